#!/bin/sh
# Make sure that Chromium is there: the tests of the console drive it.
set -eu
. "$(dirname "$0")/install.sh"

enough() {
    command -v chromium >/dev/null 2>&1 || command -v chromium-browser >/dev/null 2>&1
}

install_or_say "Chromium" "chromium fonts-dejavu-core fonts-noto-core" chromium \
    "chromium font-dejavu" "" "put it on the PATH"
