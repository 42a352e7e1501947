"""Puts what the repository has only once into the package: Redis's scripts, which the Rust host
uses too, and the policy, which the build of the repository made."""

import os
import shutil
from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py

REPOSITORY = Path(__file__).resolve().parents[2]
POLICY = Path(os.environ.get("FUSEWIRE_POLICY_WASM", REPOSITORY / "target/fusewire_policy.wasm"))
SCRIPTS = REPOSITORY / "host/src/store/redis"


class BuildWithParts(build_py):
    def run(self):
        super().run()
        into = Path(self.build_lib, "fusewire")
        for part in (SCRIPTS / "swap.lua", SCRIPTS / "count.lua", POLICY):
            if not part.is_file():
                raise SystemExit(
                    f"{part} is not there: build the package in the repository, after the policy"
                )
            shutil.copy(part, into)


setup(cmdclass={"build_py": BuildWithParts})
