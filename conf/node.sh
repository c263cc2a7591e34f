#!/bin/sh
# Make sure that Node.js 18 or newer and npm are there: the tests of Google's Node client need them.
set -eu

enough() {
    command -v npm >/dev/null 2>&1 || return 1
    found=$(node --version 2>/dev/null | sed -n 's/^v\([0-9]*\).*/\1/p')
    [ "${found:-0}" -ge 18 ]
}

enough && exit 0

if command -v apt-get >/dev/null 2>&1; then
    install="apt-get install -y --no-install-recommends nodejs npm"
    prepare="apt-get update -q"
elif command -v dnf >/dev/null 2>&1; then
    install="dnf install -y nodejs npm" prepare=true
elif command -v apk >/dev/null 2>&1; then
    install="apk add nodejs npm" prepare=true
elif command -v brew >/dev/null 2>&1; then
    install="brew install node" prepare=true
else
    echo "Node.js 18 or newer and npm are needed; install them and try again." >&2
    exit 1
fi

case $install in brew*) may=yes ;; *) [ "$(id -u)" = 0 ] && may=yes || may=no ;; esac
if [ "$may" = no ]; then
    echo "Node.js 18 or newer and npm are needed. Type this, then try again:  sudo $install" >&2
    exit 1
fi
echo "Installing Node.js: $install"
$prepare && $install
enough || {
    echo "Node.js was installed, but not version 18 or newer with npm on the PATH." >&2
    exit 1
}
