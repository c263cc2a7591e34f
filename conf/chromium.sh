#!/bin/sh
# Make sure that Chromium is there: the tests of the console drive it.
set -eu

found() {
    command -v chromium >/dev/null 2>&1 || command -v chromium-browser >/dev/null 2>&1
}

found && exit 0

if command -v apt-get >/dev/null 2>&1; then
    install="apt-get install -y --no-install-recommends chromium fonts-dejavu-core fonts-noto-core"
    prepare="apt-get update -q"
elif command -v dnf >/dev/null 2>&1; then
    install="dnf install -y chromium" prepare=true
elif command -v apk >/dev/null 2>&1; then
    install="apk add chromium font-dejavu" prepare=true
else
    echo "Chromium is needed, and none was found; install it and try again." >&2
    exit 1
fi

if [ "$(id -u)" != 0 ]; then
    echo "Chromium is needed. Type this, then try again:  sudo $install" >&2
    exit 1
fi
echo "Installing Chromium: $install"
$prepare && $install
found || {
    echo "Chromium was installed but is not found on the PATH." >&2
    exit 1
}
