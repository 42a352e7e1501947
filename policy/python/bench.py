"""What guarding a call costs in Python, against pybreaker in the same process, in one run.

    python bench.py
    python bench.py redis://127.0.0.1:6379    # with the fleet's store as well

Both guard a function that does nothing. pybreaker counts in this process alone; Fusewire asks and
tells the same policy as the rest of the fleet, with its state in this process's memory.
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import pybreaker

sys.path.insert(0, str(Path(__file__).resolve().parent / "src"))

from fusewire import Component, Guard, Policy, target  # noqa: E402
from fusewire.contract import Context, Observation  # noqa: E402
from fusewire.store.redis import RedisStore  # noqa: E402

ROUNDS = 7
"""How often each is measured, by turns, so that a slow moment of the machine meets all of them."""

SPAN = 0.4
"""How long one measurement takes, in s."""


def rate(call: Callable[[], object]) -> float:
    """How many calls a second."""
    for _ in range(100):
        call()
    calls, began = 0, time.perf_counter()
    while (elapsed := time.perf_counter() - began) < SPAN:
        for _ in range(50):
            call()
        calls += 50
    return calls / elapsed


def with_policy(policy: Policy) -> Callable[[], object]:
    """Admit, classify and settle: the component's exports alone."""
    to = target("p")

    def call() -> None:
        now = policy.store.now_ms()
        context: Context = {
            "now-ms": now,
            "entropy": 7,
            "instance": "bench",
            "call-limit-ms": None,
            "fingerprint": None,
        }
        admission = policy.admit(to, context)
        nothing()
        seen: Observation = {
            "response": {"status": 200, "headers": [], "trailers": [], "body": None},
            "failure": None,
            "cause": None,
            "latency-ms": 0,
            "now-ms": now,
            "idempotent": True,
            "delivered-partial": False,
            "expect": "any",
            "minimum-budget-ms": None,
        }
        verdict = policy.classify(to, seen)
        policy.settle(admission["decision"]["allowed"], {"judged": verdict}, context)

    return call


def with_guard(policy: Policy) -> Callable[[], object]:
    """The same as one writes it."""
    guard = Guard(policy)

    def call() -> None:
        with guard.call("p") as guarded:
            nothing()
            guarded.response(200)

    return call


def with_pybreaker() -> Callable[[], object]:
    breaker = pybreaker.CircuitBreaker(fail_max=5, reset_timeout=30)
    return lambda: breaker.call(nothing)


def nothing() -> None:
    """The call that is guarded."""


def start_up(cache: bool | str) -> float:
    """From the bytes of the component to the first decision, in ms, in a process of its own."""
    script = f"""
import time
from fusewire import Component, Guard, Policy
began = time.perf_counter()
with Guard(Policy(component=Component.built_in(cache={cache!r}))).call("p"):
    pass
print((time.perf_counter() - began) * 1000)
"""
    spans = []
    for _ in range(5):
        done = subprocess.run(
            [sys.executable, "-c", script],
            env={"PYTHONPATH": sys.path[0]},
            capture_output=True,
            check=True,
            text=True,
        )
        spans.append(float(done.stdout))
    return statistics.median(spans[1:])


def main() -> None:
    policy = Policy(component=Component.built_in())
    contenders = {
        "pybreaker": with_pybreaker(),
        "fusewire: admit + classify + settle": with_policy(policy),
        "fusewire: with guard.call(..)": with_guard(policy),
    }
    if len(sys.argv) > 1:
        shared = Policy(store=RedisStore(sys.argv[1]), component=policy.component)
        contenders["fusewire: the same, on Redis"] = with_guard(shared)
    measured: dict[str, list[float]] = {name: [] for name in contenders}
    for _ in range(ROUNDS):
        for name, call in contenders.items():
            measured[name].append(rate(call))
    rates = {name: statistics.median(seen) for name, seen in measured.items()}
    base = rates["pybreaker"]
    print("calls around a function that does nothing, one thread\n")
    for name, of in rates.items():
        print(f"  {name:37}{of:>10,.0f} /s {1e6 / of:>7.1f} us {of / base:>7.3f} of pybreaker")
    instances = time.perf_counter()
    for _ in range(50):
        policy.component.instantiate()
    each = (time.perf_counter() - instances) / 50 * 1000
    with tempfile.TemporaryDirectory() as folder:
        settings = Path(folder, "cache.toml")
        settings.write_text(f'[cache]\ndirectory = "{folder}/compiled"\n')
        cached = start_up(str(settings))
    print("\nfrom the component's bytes to the first decision\n")
    print(f"  compiled                           {start_up(False):>8.1f} ms")
    print(f"  taken from wasmtime's cache        {cached:>8.1f} ms")
    print(f"  another instance of the same       {each:>8.2f} ms")


if __name__ == "__main__":
    main()
