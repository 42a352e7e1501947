# Every command a newcomer needs. `make` alone lists them.

# The tests find the servers that `make setup` brought by themselves; only cargo has to be on PATH.
CARGO ?= cargo

.DEFAULT_GOAL := help
.PHONY: help setup build run test lint bench clean

help: ## list the commands
	@sed -n 's/^\([a-z]*\):.*## \(.*\)/  make \1\t\2/p' $(MAKEFILE_LIST) | expand -t 16

setup: ## bring what is missing: Rust's library for WebAssembly, and Redis
	@.ci/setup

build: setup ## build the fusewire binary, with the policy in it, for production
	$(CARGO) build --release --package fusewire

run: setup ## see it work: a fleet, a failing provider, a breaker they share
	$(CARGO) run --release --package fusewire -- demo

test: lint ## check and test everything
	$(CARGO) test --workspace

# One profile for checks and tests, so that wasmtime is compiled once.
lint: setup ## check format, lints and documentation
	$(CARGO) fmt --all --check
	$(CARGO) clippy --workspace --all-targets -- -D warnings
	RUSTDOCFLAGS='-D warnings' $(CARGO) doc --workspace --no-deps

bench: setup ## measure decisions and the store
	$(CARGO) bench --package fusewire-tests

clean: ## remove what was built (not what setup brought)
	$(CARGO) clean
