# Every command a newcomer needs. `make` alone lists them.

# The tests find the programs that `make setup` brought by themselves; only cargo has to be on PATH.
CARGO ?= cargo
# The folder that .ci/setup fills.
CACHE := $(or $(FUSEWIRE_CACHE),$(or $(XDG_CACHE_HOME),$(HOME)/.cache)/fusewire)
PYTHON := $(CACHE)/python/bin/python
# What was brought comes last: what is on the machine is used first.
NODE_PATH := PATH="$$PATH:$(CACHE)/bin"

.DEFAULT_GOAL := help
.PHONY: help setup setup-host build run test lint test-rust test-js test-python bench envoy-demo clean

help: ## list the commands
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  make \1\t\2/p' $(MAKEFILE_LIST) | expand -t 20

setup: ## bring what is missing: for WebAssembly, Redis, Envoy, Node, Python
	@.ci/setup

# What building and running the host needs of that.
setup-host:
	@.ci/setup host

build: setup-host ## build the fusewire binary and all WebAssembly, for production
	$(CARGO) build --release --package fusewire
	$(CARGO) run --release --package fusewire-build

run: setup-host ## see it work: a fleet, a failing provider, a breaker they share
	$(CARGO) run --release --package fusewire -- demo

envoy-demo: setup ## see it work in Envoy: a breaker that trips and recovers
	$(CARGO) run --package fusewire-tests --bin envoy_demo

test: lint test-rust test-js test-python ## check and test everything

# One profile for checks and tests, so that wasmtime is compiled once.
lint: setup ## check format, lints and documentation
	$(CARGO) fmt --all --check
	$(CARGO) clippy --workspace --all-targets -- -D warnings
	RUSTDOCFLAGS='-D warnings' $(CARGO) doc --workspace --no-deps

# The policy in Node is made of the component, which the build makes. The same features as for the
# tests, so that wasmtime is compiled once.
test-rust: setup
	$(CARGO) build --workspace
	cd policy/js && $(NODE_PATH) npm run --silent build
	$(CARGO) test --workspace

# What is checked is checked against what is built.
test-js: setup
	cd policy/js && $(NODE_PATH) npm run --silent build && $(NODE_PATH) npm run --silent check
	cd policy/js && $(NODE_PATH) npm test --silent --ignore-scripts

test-python: setup
	$(PYTHON) -m pytest -q policy/python

bench: setup ## measure decisions, the store, and each runtime
	$(CARGO) bench --package fusewire-tests
	cd policy/js && $(NODE_PATH) npm run --silent bench
	$(PYTHON) policy/python/bench.py

clean: ## remove what was built (not what setup brought)
	$(CARGO) clean
