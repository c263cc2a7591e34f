#!/bin/sh
# Make sure that Java 17 or newer is there: Spark 4.2 needs it.
set -eu

version() {
    java=${JAVA_HOME:+$JAVA_HOME/bin/}java
    command -v "$java" >/dev/null 2>&1 || return 0
    "$java" -version 2>&1 | sed -n 's/.*version "\([0-9]*\).*/\1/p' | head -n 1
}

enough() {
    found=$(version)
    [ "${found:-0}" -ge 17 ]
}

enough && exit 0

if command -v apt-get >/dev/null 2>&1; then
    install="apt-get install -y openjdk-17-jre-headless"
    prepare="apt-get update -q"
elif command -v dnf >/dev/null 2>&1; then
    install="dnf install -y java-17-openjdk-headless" prepare=true
elif command -v apk >/dev/null 2>&1; then
    install="apk add openjdk17-jre-headless" prepare=true
elif command -v brew >/dev/null 2>&1; then
    install="brew install openjdk@17" prepare=true
else
    echo "Java 17 or newer is needed, and none was found; install a JDK 17 and try again." >&2
    exit 1
fi

case $install in brew*) may=yes ;; *) [ "$(id -u)" = 0 ] && may=yes || may=no ;; esac
if [ "$may" = no ]; then
    echo "Java 17 or newer is needed. Type this, then try again:  sudo $install" >&2
    exit 1
fi
echo "Installing Java 17: $install"
$prepare && $install
enough || {
    echo "Java was installed but is not found; set JAVA_HOME to a JDK 17 and try again." >&2
    exit 1
}
