#!/bin/sh
# Make sure that Node.js and npm are there: the tests of Google's Node client need them.
set -eu
. "$(dirname "$0")/install.sh"

enough() {
    command -v npm >/dev/null 2>&1 || return 1
    found=$(node --version 2>/dev/null | sed -n 's/^v\([0-9]*\).*/\1/p')
    [ "${found:-0}" -ge 18 ]
}

install_or_say "Node.js 18 or newer with npm" "nodejs npm" "nodejs npm" "nodejs npm" node \
    "put version 18 or newer on the PATH"
