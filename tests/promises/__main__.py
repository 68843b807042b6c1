"""`python -m tests.promises`: run every test that names a promise and show which promises are kept.

JSON=1 prints `{"CR-09": {"kept": true, "tests": 3}, ...}` alone on standard output. Exit code 0 if all
that is due is kept, else 1.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from tests.promises.due import DUE
from tests.promises.verdict import Kept, kept_promises, table

ROOT = Path(__file__).resolve().parents[2]
WORKERS = "2"


def main(arguments: list[str]) -> int:
    """Run and tell; `arguments` go to pytest."""
    if "PYTEST_CURRENT_TEST" in os.environ:
        sys.stderr.write("this runs the tests, so no test may run it\n")
        return 2
    told = _run(arguments)
    promises = kept_promises(told["tests"], DUE)
    broken = [it for it in promises if it.due and not it.is_kept]
    if os.environ.get("JSON", "") not in {"", "0"}:
        sys.stdout.write(json.dumps(_as_json(promises)) + "\n")
    else:
        sys.stdout.write(table(promises) + "\n")
        sys.stdout.write(_ending(broken, told["errors"]) + "\n")
    return 1 if broken or told["errors"] else 0


def _run(arguments: list[str]) -> dict[str, Any]:
    """Run pytest once, its words on standard error, and return what the plugin wrote."""
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "outcomes.json"
        command = [sys.executable, "-m", "pytest", "-q", "-n", WORKERS]
        command += ["--dist", "loadfile", f"--promises-to={path}", *arguments]
        subprocess.run(command, cwd=ROOT, stdout=sys.stderr, check=False)
        if not path.exists():
            raise SystemExit("pytest ended before its first test")
        told: dict[str, Any] = json.loads(path.read_text())
        return told


def _as_json(promises: list[Kept]) -> dict[str, dict[str, Any]]:
    return {it.promise: {"kept": it.is_kept, "tests": it.tests} for it in promises}


def _ending(broken: list[Kept], errors: list[str]) -> str:
    lines = [f"could not be collected: {path}" for path in errors]
    if broken:
        lines.append(f"not kept: {', '.join(it.promise for it in broken)}")
    return "\n".join(lines) or "All promises that are due are kept."


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
