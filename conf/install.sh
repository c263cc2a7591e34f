# Sourced by the scripts beside it: install what one of them needs with the system's package manager,
# or say how. Each defines `enough`, which tells whether it is there.

# install_or_say WHAT DEBIAN FEDORA ALPINE BREW HINT: packages for each manager, "" where there are none.
install_or_say() {
    enough && return 0
    prepare=true root=yes
    if command -v apt-get >/dev/null 2>&1; then
        install="apt-get install -y --no-install-recommends $2" prepare="apt-get update -q"
    elif command -v dnf >/dev/null 2>&1; then
        install="dnf install -y $3"
    elif command -v apk >/dev/null 2>&1; then
        install="apk add $4"
    elif command -v brew >/dev/null 2>&1 && [ -n "$5" ]; then
        install="brew install $5" root=no
    else
        echo "$1 is needed, and was not found; install it and try again." >&2
        return 1
    fi
    if [ "$root" = yes ] && [ "$(id -u)" != 0 ]; then
        echo "$1 is needed. Type this, then try again:  sudo $install" >&2
        return 1
    fi
    echo "Installing $1: $install"
    $prepare && $install
    enough || {
        echo "$1 was installed but is not found; $6 and try again." >&2
        return 1
    }
}
