#!/bin/sh
# Make sure that Java 17 or newer is there: Spark 4.2 needs it.
set -eu
. "$(dirname "$0")/install.sh"

version() {
    java=${JAVA_HOME:+$JAVA_HOME/bin/}java
    command -v "$java" >/dev/null 2>&1 || return 0
    "$java" -version 2>&1 | sed -n 's/.*version "\([0-9]*\).*/\1/p' | head -n 1
}

enough() {
    found=$(version)
    [ "${found:-0}" -ge 17 ]
}

install_or_say "Java 17 or newer" openjdk-17-jre-headless java-17-openjdk-headless \
    openjdk17-jre-headless openjdk@17 "set JAVA_HOME to a JDK 17"
