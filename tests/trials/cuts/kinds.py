"""The kinds of run that are cut: one step with one call each, and what has to come of it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from tests.trials.cuts import sagas

POLICY = '@id("cuts") permit (principal, action == Action::"call", resource);'
INCIDENT = ("incident/create_incident", {"name": "[{{ run }}/1]", "severity": "p3"})
ISSUE = ("jira/create_issue", {"project": "OPS", "summary": "[{{ run }}/1]"})
TASK, ANSWER = "Do the one thing.", "Done."
CHANGE = ("servicenow/create_change", {"short_description": "[{{ run }}/1]"})
Asked = tuple[str, dict[str, Any]]


@dataclass(frozen=True, slots=True, kw_only=True)
class RunKind:
    """One kind. `calls` is what each of its agents asks for, the first being started.

    `is_held`: its write waits for a person; `is_decided_awake`: who decides before the filing is answered, else once
    nobody carries the run. `writes` is how many must be on a ledger. `way` is the way in that it comes by, from the other
    end of it; else it is started at the desk. `saga`: it makes the calls of `sagas.py`, whose undos a `workflow` names or the
    agent's `map`; `branches`: it makes those of the workflow whose writes stand; `is_pressed`: from the strike on a person asks the survivor, again and again, to undo it.
    """

    name: str
    calls: dict[str, Asked]
    writes: int = 1
    is_held: bool = False
    is_decided_awake: bool = False
    way: str = ""
    saga: str = ""
    branches: int = 0
    is_pressed: bool = False

    @property
    def is_workflow(self) -> bool:
        """Whether it is begun as a run of a workflow, whose key is its agent's."""
        return self.saga == "workflow" or self.branches > 0

    @property
    def is_long(self) -> bool:
        """Whether it makes many calls, of which a sample cuts few."""
        return self.is_workflow or bool(self.saga)

    @property
    def agent(self) -> str:
        """The agent that is started."""
        return next(iter(self.calls))

    @property
    def runs(self) -> int:
        """How many runs there are in the end: a delegation makes one, and so does a branch."""
        return len(self.calls) + self.branches


KINDS = (
    RunKind(name="read", calls={"cut-read": ("incident/list_incidents", {})}, writes=0),
    RunKind(name="keyed", calls={"cut-keyed": INCIDENT}),
    RunKind(name="readable", calls={"cut-readable": ISSUE}),
    RunKind(name="blind", calls={"cut-blind": CHANGE}),
    RunKind(name="held", calls={"cut-held": CHANGE}, is_held=True),
    RunKind(
        name="held, decided awake",
        calls={"cut-held-awake": INCIDENT},
        is_held=True,
        is_decided_awake=True,
    ),
    RunKind(
        name="delegated",
        calls={
            "cut-parent": ("agents/cut-child", {"task": "Do it for me."}),
            "cut-child": INCIDENT,
        },
    ),
    RunKind(name="workflow", calls={sagas.BRANCHED: INCIDENT}, writes=3, branches=2),
    RunKind(name="saga", calls={sagas.WORKFLOW: sagas.PAGE}, saga="workflow"),
    RunKind(
        name="saga of a map, asked",
        calls={"cut-saga-map": sagas.PAGE},
        saga="map",
        is_pressed=True,
    ),
    RunKind(name="cron", calls={"cut-cron": INCIDENT}, way="cron"),
    RunKind(name="teams", calls={"cut-teams": INCIDENT}, way="teams"),
    RunKind(name="teams, asked", calls={"cut-teams-asked": CHANGE}, way="teams", is_held=True),
    RunKind(name="webhook", calls={"cut-webhook": INCIDENT}, way="webhook"),
    RunKind(name="ticket", calls={"cut-ticket": INCIDENT}, way="ticket"),
    RunKind(name="a2a", calls={"cut-a2a": INCIDENT}, way="a2a"),
    RunKind(name="mcp", calls={"cut-mcp": INCIDENT}, way="mcp"),
    RunKind(name="copilot", calls={"cut-copilot": INCIDENT}, way="copilot"),
    RunKind(name="playground", calls={"cut-playground": INCIDENT}, way="playground"),
    RunKind(name="resume", calls={"cut-resume": INCIDENT}, way="resume"),
)


MAPPED = {"compensations": sagas.compensations(), "max_steps": sagas.MOST_STEPS}


def agents() -> dict[str, Any]:
    """Return the document that declares the agents of all kinds."""
    return {
        "agents": [
            {
                "key": agent,
                "name": agent,
                "provider": "scripted",
                "model": agent,
                "tool_patterns": sagas.PATTERNS if kind.saga else [asked[0]],
                "write_posture": "hold" if kind.is_held else "allow",
                "may_wait": kind.is_held,
                "recording": "full",
                **(MAPPED if kind.saga == "map" else {}),
            }
            for kind in KINDS
            for agent, asked in kind.calls.items()
        ]
    }


def write_scripts(directory: Path) -> None:
    """Write what each agent's model says into `directory`."""
    directory.mkdir(parents=True, exist_ok=True)
    for kind in KINDS:
        for agent, (tool, args) in kind.calls.items():
            steps: list[dict[str, Any]] = [
                {"text": "I do it.", "calls": [{"tool": tool, "args": args}]},
                {"text": ANSWER},
            ]
            if kind.saga:
                steps = sagas.script()
            (directory / f"{agent}.yaml").write_text(yaml.safe_dump({"steps": steps}))
