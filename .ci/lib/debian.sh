# shellcheck shell=bash
# Saying things, and Debian packages that are unpacked instead of installed: which needs no root and
# leaves the system as it is. Sourced by .ci/setup.

APT_OPTIONS=(-qq -o APT::Sandbox::User=root)
WORK=
trap '[[ -z "$WORK" ]] || rm -rf "$WORK"' EXIT

say() { printf 'setup: %s\n' "$*"; }
have() { command -v "$1" >/dev/null 2>&1; }
at_least() { [[ "$(printf '%s\n%s\n' "$2" "$1" | sort -V | head -n 1)" == "$2" ]]; }

fail() {
    printf 'setup: cannot go on: %s\n' "$1" >&2
    shift
    [[ $# -eq 0 ]] || printf '         %s\n' "$@" >&2
    exit 1
}

# Runs a command with a time limit where the machine has `timeout` (not every Unix does).
limited() {
    local seconds=$1
    shift
    if have timeout; then timeout "$seconds" "$@"; else "$@"; fi
}

apt() { apt-get "${APT_OPTIONS[@]}" "$@"; }

# Package lists of our own, for a machine whose lists are empty or stale: `apt-get update` proper
# needs root and changes the system.
use_own_package_lists() {
    say "fetching Debian's package lists"
    mkdir -p "$WORK/apt/lists/partial" "$WORK/apt/cache/archives/partial"
    APT_OPTIONS+=(-o "Dir::State::lists=$WORK/apt/lists" -o "Dir::Cache=$WORK/apt/cache")
    apt update
}

# Runs "$@" with the machine's package lists, and where that fails once more with fresh ones.
with_fresh_lists() { "$@" || { use_own_package_lists && "$@"; }; }

# Prints the packages that "$@" need, themselves included, as apt resolves them on an empty
# machine: so neither what is installed nor a half-finished upgrade changes the answer.
closure() {
    : >"$WORK/status"
    apt -o "Dir::State::status=$WORK/status" install --simulate --no-install-recommends "$@" |
        sed -n 's/^Inst \([^ ]*\) .*/\1/p'
}

# Shared libraries only: the wrappers need no helper of an installation script.
is_library() { [[ "$1" == lib* && "$1" != *-perl ]]; }

installed() { [[ "$(dpkg-query -W -f '${db:Status-Status}' "$1" 2>/dev/null)" == installed ]]; }

# The version of package $1 that apt would install, without epoch and Debian revision.
candidate() {
    apt-cache "${APT_OPTIONS[@]}" policy "$1" 2>/dev/null |
        sed -n 's/^ *Candidate: \([0-9]*:\)\{0,1\}\([0-9.]*\).*/\2/p'
}

# unpack DIRECTORY ALWAYS PACKAGE...: downloads the packages and what they need and unpacks them
# into DIRECTORY. Libraries that are installed are left to the system, unless their name matches
# the regular expression ALWAYS.
unpack() {
    local directory=$1 always=$2 name names
    shift 2
    names=$(closure "$@") && [[ -n "$names" ]] || return 1
    local wanted=()
    for name in $names; do
        if [[ "$name" =~ $always ]] || { is_library "$name" && ! installed "$name"; }; then
            wanted+=("$name")
        fi
    done
    say "downloading ${wanted[*]}"
    mkdir -p "$WORK/packages" "$directory"
    (cd "$WORK/packages" && apt download "${wanted[@]}") || return 1
    local package
    for package in "$WORK"/packages/*.deb; do
        # Of the compiler's source only its library is ever built: a tenth of the files.
        dpkg-deb --fsys-tarfile "$package" | tar -x -C "$directory" --no-wildcards-match-slash \
            --exclude='./usr/share' --exclude='./usr/src/*/compiler' --exclude='./usr/src/*/src' \
            --exclude='./usr/src/*/tests' || return 1
    done
    rm -rf "$WORK/packages"
}

# write_wrapper SCRIPT ROOT PROGRAM: makes a script that runs ROOT/PROGRAM with the libraries
# unpacked under ROOT, which is given relative to the script's folder, so that both can be moved.
# It `exec`s, so a signal to it reaches the program.
write_wrapper() {
    local script=$1 root=$2 program=$3 folder libraries=
    mkdir -p "$(dirname "$script")"
    # Debian keeps libraries in a folder named after the machine, such as lib/x86_64-linux-gnu.
    for folder in $(cd "$(dirname "$script")/$root" && find usr/lib lib -maxdepth 1 -name '*-linux-*' 2>/dev/null); do
        libraries+="\$root/$folder:"
    done
    cat >"$script.new" <<WRAPPER
#!/bin/sh
root=\${0%/*}/$root
LD_LIBRARY_PATH=${libraries%:}\${LD_LIBRARY_PATH:+:\$LD_LIBRARY_PATH}
export LD_LIBRARY_PATH
exec "\$root/$program" "\$@"
WRAPPER
    chmod +x "$script.new"
    mv "$script.new" "$script"
}

# Puts a finished folder in its place. Another setup that ran meanwhile may have been first: its
# result is as good.
put_in_place() {
    rm -rf "$2.old"
    [[ ! -e "$2" ]] || mv -T "$2" "$2.old"
    mv -T "$1" "$2" 2>/dev/null || [[ -e "$2" ]]
    rm -rf "$2.old"
}

debian() { have apt-get && have dpkg-deb; }

# A folder for what is unfinished, removed at the end. It is inside the cache folder, since a
# rename is atomic only within one file system; what a killed setup left there goes too.
need_work_folder() {
    [[ -z "$WORK" ]] || return 0
    mkdir -p "$CACHE"
    find "$CACHE" -maxdepth 1 -name 'unfinished.*' -mmin +600 -exec rm -rf {} +
    WORK=$(mktemp -d "$CACHE/unfinished.XXXXXX")
}
