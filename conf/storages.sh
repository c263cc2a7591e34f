#!/bin/sh
# Build the S3 server of the tests and install the Azure one into a directory: storages.sh DIRECTORY
# Go fetches a newer toolchain by itself where versitygw needs one.
set -eu
. "$(dirname "$0")/install.sh"

VERSITYGW=v1.8.0
directory=$(mkdir -p "$1" && cd "$1" && pwd)
azurite=$(cd "$(dirname "$0")/../tests/storages/azurite" && pwd)

enough() {
    found=$(go version 2>/dev/null | sed -n 's/.*go1\.\([0-9]*\).*/\1/p')
    [ "${found:-0}" -ge 21 ]
}

if [ "$(cat "$directory/versitygw" 2>/dev/null)" != "$VERSITYGW" ]; then
    install_or_say "Go 1.21 or newer" golang-go golang go go "put version 1.21 or newer on the PATH"
    echo "Building versitygw $VERSITYGW (some minutes)"
    GOBIN="$directory/bin" go install "github.com/versity/versitygw/cmd/versitygw@$VERSITYGW"
    echo "$VERSITYGW" >"$directory/versitygw"
fi
cmp -s "$azurite/package-lock.json" "$directory/package-lock.json" || {
    sh "$(dirname "$0")/node.sh"
    cp "$azurite/package.json" "$azurite/.npmrc" "$azurite/package-lock.json" "$directory"
    (cd "$directory" && npm ci --ignore-scripts --no-audit --no-fund) || {
        rm -f "$directory/package-lock.json"
        exit 1
    }
}
