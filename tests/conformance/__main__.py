"""`python -m tests.conformance`: run what applies of the suite, and say of the rest why it does not. 1 where one fails."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

import yaml

from tests.conformance.bearer import with_bearer
from tests.conformance.install import VERSIONS, NotInstalled, install, suite
from tests.conformance.scenarios import APPLIES, WHY_NOT_CHECKED, why_not
from tests.trials.stage import Stage, stage

NAME = re.compile(r"^  - (\S+)", re.MULTILINE)
SCENARIO_SECONDS = 120
FAILURE = "FAILURE"
# Tools that the suite calls by name. Those with a task work on it; the other is asked nothing, which is an error.
WORKING = frozenset({"test_simple_text", "test_tool_with_progress"})
ASKED_NOTHING = "test_error_handling"
SCRIPT = "conformance"


def main() -> int:
    """Run each version's scenarios; tell each in a line."""
    try:
        install()
    except NotInstalled as error:
        sys.stderr.write(f"{error}\n")
        return 1
    with tempfile.TemporaryDirectory(prefix="liyagent-conformance-") as name, serving(Path(name)) as url:  # fmt: skip
        failed = [line for version in VERSIONS for line in run(version, url, Path(name))]
    sys.stdout.write(f"\n{len(failed)} failed\n")
    return 1 if failed else 0


@contextmanager
def serving(directory: Path) -> Iterator[str]:
    """Serve the suite's agents with an app process; give the address that needs no key."""
    with stage(directory / "logs") as it:
        know_agents(it, directory)
        port = urlsplit(it.url("A")).port
        assert port is not None
        with with_bearer(port, it.token, tasks_for=WORKING) as url:
            yield url


def know_agents(it: Stage, directory: Path) -> None:
    """Agents of the names that the suite calls: they look five times, and answer."""
    looks = [
        {"delay": 0.4, "text": "I look.", "calls": [{"tool": "incident/list_incidents"}]}
        for _ in range(5)
    ]
    steps = [*looks, {"text": "All is well."}]
    Path(it.env["LIYAGENT_SCRIPTS_DIR"], f"{SCRIPT}.yaml").write_text(
        yaml.safe_dump({"steps": steps})
    )
    agents = [
        {"key": key, "name": key, "provider": "scripted", "model": SCRIPT, "tool_patterns": ["incident/*"]}
        for key in sorted({*WORKING, ASKED_NOTHING})
    ]  # fmt: skip
    file = directory / "agents.yaml"
    file.write_text(yaml.safe_dump({"agents": agents}))
    it.manage("agents", "load", str(file))
    for agent in agents:
        it.manage("policies", "permit", str(agent["key"]), "incident/*")


def run(version: str, url: str, directory: Path) -> list[str]:
    """Run one version; return the lines of what failed, or is not known here."""
    sys.stdout.write(f"\n@modelcontextprotocol/conformance {version}\n")
    listed = subprocess.run(
        [*suite(version), "list", "--server"], capture_output=True, text=True, check=True
    )
    failed = []
    for name in NAME.findall(listed.stdout):
        why = why_not(name)
        told = f"not: {why}" if why else outcome(version, name, url, directory / version / name)
        line = f"  {name:<45} {told}"
        sys.stdout.write(f"{line}\n")
        sys.stdout.flush()
        failed += [] if why or told.startswith("passed") else [line]
    return failed


def outcome(version: str, name: str, url: str, place: Path) -> str:
    """Run a scenario and judge its checks; one that is not in our tables is a failure too."""
    if name not in APPLIES:
        return "unknown: say in scenarios.py whether it applies"
    command = [*suite(version), "server", "--url", url, "--scenario", name, "-o", str(place)]
    ran = subprocess.run(
        command, capture_output=True, text=True, timeout=SCENARIO_SECONDS, check=False
    )
    checks = [it for file in place.rglob("checks.json") for it in json.loads(file.read_text())]
    if not checks and ran.returncode:
        return f"FAILED: exit code {ran.returncode}"
    counted = [it for it in checks if it["id"] not in APPLIES[name]]
    failures = [it for it in counted if it["status"] == FAILURE]
    if failures:
        return "FAILED: " + "; ".join(
            f"{it['id']}: {it.get('errorMessage', '')}" for it in failures
        )
    good = sum(it["status"] == "SUCCESS" for it in counted)
    left = len(checks) - len(counted)
    return f"passed {good} checks" + (f", {left} left out: {WHY_NOT_CHECKED}" if left else "")


if __name__ == "__main__":
    sys.exit(main())
