"""The built package: it has with it what it shares with the repository, and nothing else."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

PACKAGE = Path(__file__).resolve().parents[1]
REPOSITORY = PACKAGE.parents[1]


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    base = tmp_path_factory.mktemp("build")
    subprocess.run(
        [sys.executable, "-W", "ignore", "setup.py", "-q", "build", "--build-base", base]
        + ["egg_info", "--egg-base", base],
        cwd=PACKAGE,
        check=True,
        timeout=60,
    )
    return base / "lib"


def test_it_has_the_repositorys_own_scripts_and_policy(built: Path) -> None:
    policy = os.environ.get("FUSEWIRE_POLICY_WASM", REPOSITORY / "target/fusewire_policy.wasm")
    for name, source in [
        ("swap.lua", REPOSITORY / "host/src/store/redis/swap.lua"),
        ("count.lua", REPOSITORY / "host/src/store/redis/count.lua"),
        ("fusewire_policy.wasm", policy),
    ]:
        assert (built / "fusewire" / name).read_bytes() == Path(source).read_bytes()
    assert (built / "fusewire" / "py.typed").is_file()


def test_it_runs_far_from_the_repository(built: Path, tmp_path: Path) -> None:
    script = """
import fusewire, fusewire.store.redis
assert __import__("sys").argv[1] in fusewire.__file__, fusewire.__file__
with fusewire.Guard(fusewire.Policy()).call("p") as call:
    call.response(200)
assert call.verdict["outcome"] == "success"
"""
    environment = {**os.environ, "PYTHONPATH": str(built)}
    subprocess.run(
        [sys.executable, "-c", script, str(built)],
        cwd=tmp_path,
        env=environment,
        check=True,
        timeout=30,
    )
