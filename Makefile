# Every command a newcomer needs. `make` alone lists them.

# The tests find the programs that `make setup` brought by themselves; only cargo has to be on PATH.
CARGO ?= cargo
# The folder that .ci/setup fills.
CACHE := $(or $(FUSEWIRE_CACHE),$(or $(XDG_CACHE_HOME),$(HOME)/.cache)/fusewire)
PYTHON := $(CACHE)/python/bin/python
# What was brought comes last: what is on the machine is used first.
NODE_PATH := PATH="$$PATH:$(CACHE)/bin"

.DEFAULT_GOAL := help
.PHONY: help setup setup-host build run test lint test-rust test-js test-python reference mutants bench fuzz envoy-demo clean

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

reference: setup-host ## make the page and the schema of the settings again
	$(CARGO) run --package fusewire -- reference > host/SETTINGS.md.new && mv host/SETTINGS.md.new host/SETTINGS.md
	$(CARGO) run --package fusewire -- reference --schema > host/fusewire.schema.json.new && mv host/fusewire.schema.json.new host/fusewire.schema.json

# One of so many parts, such as SHARD=1/8: all of it takes an hour.
SHARD ?= 1/1
mutants: setup ## change the core in each way that cargo-mutants knows: what does no test notice
	@command -v cargo-mutants >/dev/null || test -x $(CACHE)/bin/cargo-mutants \
		|| $(CARGO) install --locked --root $(CACHE) cargo-mutants@27.1.0
	$(CARGO) build --package fusewire-mutants
	PATH="$$PATH:$(CACHE)/bin" cargo mutants --list --json --package fusewire-core \
		| target/debug/fusewire-mutate target/mutants $(SHARD)

bench: setup ## measure decisions, the store, and each runtime
	$(CARGO) bench --package fusewire-tests
	cd policy/js && $(NODE_PATH) npm run --silent bench
	$(PYTHON) policy/python/bench.py

# libFuzzer finds its way by coverage, which the compiler puts in. The flags are for the fuzzer alone,
# not for build scripts, since a target is named. What is found is kept for the next run.
FUZZ_SECONDS ?= 60
FUZZ_KINDS := answer configuration hints
FUZZ_TARGET = $(shell rustc --version --verbose | sed -n 's/^host: //p')
FUZZ_FOLDER := target/fuzzing
FUZZ_FLAGS := -Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4 \
	-Cllvm-args=-sanitizer-coverage-inline-8bit-counters -Cllvm-args=-sanitizer-coverage-pc-table

fuzz: ## look for inputs that break the classifier, for FUZZ_SECONDS each kind
	$(CARGO) run --quiet --package fusewire-fuzz --bin fuzz_seeds -- $(FUZZ_FOLDER)/seeds
	RUSTFLAGS='$(FUZZ_FLAGS)' $(CARGO) build --profile fuzz --package fusewire-fuzz \
		--features libfuzzer --target $(FUZZ_TARGET) $(FUZZ_KINDS:%=--bin fuzz_%)
	@set -e; for kind in $(FUZZ_KINDS); do \
		mkdir -p $(FUZZ_FOLDER)/corpus/$$kind $(FUZZ_FOLDER)/found; \
		target/$(FUZZ_TARGET)/fuzz/fuzz_$$kind -max_total_time=$(FUZZ_SECONDS) -timeout=2 \
			-max_len=80000 -dict=$(FUZZ_FOLDER)/seeds/words.dict -print_final_stats=1 \
			-artifact_prefix=$(FUZZ_FOLDER)/found/$$kind- $(FUZZ_FOLDER)/corpus/$$kind \
			tests/cases/fuzz/$$kind $(FUZZ_FOLDER)/seeds/$$kind; \
	done

clean: ## remove what was built (not what setup brought)
	$(CARGO) clean
