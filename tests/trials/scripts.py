"""What the agents of the trials do: many small writes with a marker each, a read between, short thoughts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

WRITES = 12
THINKING_SECONDS = (0.04, 0.08, 0.12)
READS = {
    "keyed": "incident/list_incidents",
    "readable": "jira/search_issues",
    "blind": "servicenow/list_changes",
}
# The demo's agents, of which each plays the script of its own name.
AGENTS = {kind: f"triage-{kind}" for kind in ("keyed", "readable", "blind", "mixed")}


def write_scripts(directory: Path) -> None:
    """Write one script an agent into `directory`."""
    directory.mkdir(parents=True, exist_ok=True)
    for kind, agent in AGENTS.items():
        text = yaml.safe_dump({"steps": _steps(kind)}, sort_keys=False)
        (directory / f"{agent}.yaml").write_text(text)


def _steps(kind: str) -> list[dict[str, Any]]:
    kinds = list(READS) if kind == "mixed" else [kind]
    steps: list[dict[str, Any]] = [_step(0, [{"tool": READS[it]} for it in kinds])]
    number = 1
    while number <= WRITES:
        # Every third step asks for two writes at once, every fourth for a read after its write.
        size = min(2 if number % 3 == 0 else 1, WRITES + 1 - number)
        calls = [_write(kinds[(number + it) % len(kinds)], number + it) for it in range(size)]
        if number % 4 == 0:
            calls.append({"tool": READS[kinds[number % len(kinds)]]})
        steps.append(_step(number, calls))
        number += size
    return [*steps, {"delay": 0.05, "text": "All is filed."}]


def _step(number: int, calls: list[dict[str, Any]]) -> dict[str, Any]:
    return {"delay": THINKING_SECONDS[number % 3], "text": f"Step {number}.", "calls": calls}


def _write(kind: str, number: int) -> dict[str, Any]:
    marker = f"web-{number} [{{{{ run }}}}/{number}]"
    if kind == "keyed":
        return {"tool": "incident/create_incident", "args": {"name": marker, "severity": "p3"}}
    if kind == "blind":
        return {"tool": "servicenow/create_change", "args": {"short_description": marker}}
    if number % 2:
        return {"tool": "jira/create_issue", "args": {"project": "OPS", "summary": marker}}
    return {"tool": "jira/add_comment", "args": {"issue_key": "OPS-0", "body": marker}}
