"""What an agent of the kill trials does: it opens incidents and comments, each with a marker of its run; one files a change too."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

from tests.kills.plan import Way
from tests.trials.cuts import sagas

# The last is no script: its workflow makes three writes and fails, and each of them is undone.
AGENTS = {"plain": "triage-readable", "blind": "triage-mixed", "saga": "triage-undo"}
SAGA = AGENTS["saga"]
CATALOGUE = [
    {
        "key": agent,
        "name": f"Kill trials, {name}",
        "provider": "scripted",
        "model": f"kills-{name}",
        "instructions": "You are on call.",
        "tool_patterns": ["incident/*", "jira/*", "servicenow/*"],
        "write_posture": "allow",
        "recording": "full",
    }
    for name, agent in AGENTS.items()
]
WORKFLOW = sagas.workflow(SAGA)
THINKING_SECONDS = 0.1
ANSWER = "All is filed. [{{ run }}/9]"
WRITES: dict[str, list[str]] = {
    "plain": ["incident", "comment", "incident", "comment"],
    "blind": ["incident", "comment", "change", "incident", "comment"],
}


def script_of(way: Way) -> str:
    """Return which script an entry of this way is answered by: of some, one that makes a blind write too."""
    if way is Way.SAGA:
        return "saga"
    return "blind" if way in {Way.CRON, Way.TEAMS} else "plain"


def agent_of(way: Way) -> str:
    """Return the agent that is asked by this way."""
    return AGENTS[script_of(way)]


def writes_of(way: Way) -> int:
    """Return how many writes a run of this way makes; of a saga its record tells."""
    return len(WRITES.get(script_of(way), ()))


def answer_of(run_id: str) -> str:
    """Return what a run answers in the end."""
    return ANSWER.replace("{{ run }}", run_id)


def write_scripts(directory: Path) -> None:
    """Write one script an agent into `directory`."""
    directory.mkdir(parents=True, exist_ok=True)
    for name, writes in WRITES.items():
        steps: list[dict[str, Any]] = [
            *(
                {"delay": THINKING_SECONDS, "text": "I file it.", "calls": [_write(kind, number)]}
                for number, kind in enumerate(writes, start=1)
            ),
            {"delay": THINKING_SECONDS, "text": ANSWER},
        ]  # fmt: skip
        text = yaml.safe_dump({"steps": steps}, sort_keys=False)
        (directory / f"kills-{name}.yaml").write_text(text)


def _write(kind: str, number: int) -> dict[str, Any]:
    marker = f"disk of web-{number} is full [{{{{ run }}}}/{number}]"
    if kind == "incident":
        return {"tool": "incident/create_incident", "args": {"name": marker, "severity": "p3"}}
    if kind == "comment":
        return {"tool": "jira/add_comment", "args": {"issue_key": "OPS-0", "body": marker}}
    return {"tool": "servicenow/create_change", "args": {"short_description": marker}}
