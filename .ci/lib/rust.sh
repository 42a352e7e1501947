# shellcheck shell=bash
# The compilers, and the Rust standard library for WebAssembly. Sourced by .ci/setup.

readonly TARGET=wasm32-unknown-unknown
# As the workspace's manifest has it, so that it is said once.
RUST_NEEDED=$(sed -n 's/^rust-version = "\(.*\)"/\1/p' Cargo.toml)
readonly RUST_NEEDED
# A mirror that does not answer must not hold up the fallback for long.
readonly RUSTUP_SECONDS=180

check_compilers() {
    local found
    if ! have cargo || ! have rustc; then
        fail "cargo and rustc are not on PATH." \
            "Install Rust $RUST_NEEDED or later: https://www.rust-lang.org/tools/install"
    fi
    found=$(rustc --version | cut -d ' ' -f 2)
    if ! at_least "$found" "$RUST_NEEDED"; then
        fail "rustc $found is too old, Fusewire needs $RUST_NEEDED or later." \
            "With rustup: rustup update stable"
    fi
    if ! have cc; then
        fail "no C compiler (cc) is on PATH; the cryptography under TLS and cargo's linking need one." \
            "On Debian: sudo apt-get install gcc libc6-dev"
    fi
    say "rustc $found and cc are there"
}

# --- The standard library for WebAssembly -------------------------------------------------------

# `rustc --print target-libdir` names a folder whether or not the target is installed.
target_installed() {
    compgen -G "$(rustc --print target-libdir --target "$TARGET")/libcore-*.rlib" >/dev/null
}

unpacked_toolchain_works() { "$CACHE/wasm-toolchain/bin/rustc" --version >/dev/null 2>&1; }

explain_target_and_fail() {
    fail "$1" \
        "Install Rust's standard library for $TARGET in one of these ways:" \
        "  rustup target add $TARGET" \
        "  or Debian packages of rustc $RUST_NEEDED or later with their source (rustc-web, rust-web-src)"
}

# Prints the compiler and source packages of the first Debian compiler that is new enough.
choose_debian_rust() {
    local pair version
    for pair in "rustc-web rust-web-src" "rustc rust-src"; do
        version=$(candidate "${pair%% *}")
        if [[ -n "$version" ]] && at_least "$version" "$RUST_NEEDED"; then
            printf '%s\n' "$pair"
            return
        fi
    done
    return 1
}

unpack_debian_rust() {
    local tree=$1 pair source llvm lld=lld
    rm -rf "$tree"
    pair=$(choose_debian_rust) || return 1
    # shellcheck disable=SC2086  # two package names
    unpack "$tree" '^(rust|libstd-rust|libllvm)' $pair || return 1
    write_wrapper "$tree/bin/rustc" .. usr/bin/rustc
    # Debian links the source by an absolute path, which would lead out of the cache folder.
    source=$(cd "$tree" && compgen -G 'usr/src/rustc*/library') || return 1
    mkdir -p "$tree/usr/lib/rustlib/src"
    rm -rf "$tree/usr/lib/rustlib/src/rust"
    ln -s "../../../../${source%/library}" "$tree/usr/lib/rustlib/src/rust"
    # A compiler from rustup brings its own linker for WebAssembly; Debian's uses LLVM's.
    if ! compgen -G "$(rustc --print sysroot)/lib/rustlib/*/bin/rust-lld" >/dev/null && ! have wasm-ld; then
        llvm=$(cd "$tree" && compgen -G 'usr/lib/*/libLLVM.so.*' | sed 's/.*\.so\.\([0-9]*\).*/\1/')
        # Of the same release as the compiler's LLVM where there is one: objects may be too new for it.
        [[ -z "$llvm" || -z "$(candidate "lld-$llvm")" ]] || lld="lld-$llvm"
        unpack "$tree" '^(lld|libllvm)' "$lld" || return 1
        write_wrapper "$tree/bin/wasm-ld" .. "$(cd "$tree" && compgen -G 'usr/lib/llvm-*/bin/wasm-ld' | head -n 1)"
    fi
    "$tree/bin/rustc" --version >/dev/null
}

bring_wasm_target() {
    if target_installed; then
        say "the standard library for $TARGET is installed"
        return
    fi
    if unpacked_toolchain_works; then
        say "the standard library for $TARGET is unpacked in $CACHE/wasm-toolchain"
        return
    fi
    if have rustup; then
        say "trying: rustup target add $TARGET"
        if limited "$RUSTUP_SECONDS" rustup target add "$TARGET" && target_installed; then
            say "rustup installed the standard library for $TARGET"
            return
        fi
        say "rustup could not install it; turning to Debian's packages"
    fi
    debian || explain_target_and_fail "rustup cannot bring $TARGET, and this is not Debian or a relative."
    need_work_folder
    with_fresh_lists unpack_debian_rust "$WORK/tree" ||
        explain_target_and_fail "Debian's packages do not serve: not found, too old, or not to be downloaded."
    put_in_place "$WORK/tree" "$CACHE/wasm-toolchain"
    say "unpacked $("$CACHE/wasm-toolchain/bin/rustc" --version) into $CACHE/wasm-toolchain"
}
