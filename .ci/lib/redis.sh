# shellcheck shell=bash
# redis-server. Sourced by .ci/setup.

# Redis 6 brought client tracking, which tells every host at once that a record changed.
readonly REDIS_NEEDED=6.0

# Prints nothing where the program is missing or does not run.
redis_version() { { "$1" --version 2>/dev/null || true; } | sed -n 's/.* v=\([0-9.]*\).*/\1/p'; }

unpack_debian_redis() {
    rm -rf "$1"
    unpack "$1" '^redis-' redis-server && [[ -x "$1/usr/bin/redis-server" ]]
}

bring_redis() {
    local found
    if have redis-server; then
        found=$(redis_version redis-server)
        at_least "${found:-0}" "$REDIS_NEEDED" || fail \
            "redis-server ${found:-of an unknown version} on PATH is too old; the tests need $REDIS_NEEDED or later." \
            "Install a newer one, or take it from PATH for this command and one will be unpacked."
        say "redis-server $found is at $(command -v redis-server)"
        return
    fi
    found=$(redis_version "$CACHE/bin/redis-server")
    if [[ -n "$found" ]]; then
        say "redis-server $found is unpacked at $CACHE/bin/redis-server"
        return
    fi
    debian || fail "redis-server is not on PATH, and this is not Debian or a relative." \
        "Install Redis $REDIS_NEEDED or later, so that redis-server is on PATH."
    need_work_folder
    with_fresh_lists unpack_debian_redis "$WORK/tree" ||
        fail "Debian's redis-server could not be downloaded." "Install it: sudo apt-get install redis-server"
    put_in_place "$WORK/tree" "$CACHE/redis"
    write_wrapper "$CACHE/bin/redis-cli" ../redis usr/bin/redis-cli
    write_wrapper "$CACHE/bin/redis-server" ../redis usr/bin/redis-server
    found=$(redis_version "$CACHE/bin/redis-server")
    [[ -n "$found" ]] || fail "the unpacked redis-server does not run: $("$CACHE/bin/redis-server" --version 2>&1)" \
        "Install it: sudo apt-get install redis-server"
    say "unpacked redis-server $found to $CACHE/bin/redis-server"
}
