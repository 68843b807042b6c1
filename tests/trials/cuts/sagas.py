"""What the workflows and sagas that are cut do.

A saga makes three writes, one of each kind, and a page that reaches nobody; each write has its undo. The other workflow makes a
write, and two more in branches beside each other; all of them are keyed, so that it is answered wherever it is cut.
"""

from __future__ import annotations

from typing import Any

WORKFLOW, BRANCHED = "cut-saga", "cut-branched"
# By number, as in the markers: the first is the oldest.
WRITES: dict[int, tuple[str, dict[str, Any]]] = {
    1: ("incident/create_incident", {"name": "[RUN/1]", "severity": "p3"}),
    2: ("servicenow/create_change", {"short_description": "[RUN/2]"}),
    3: ("jira/create_issue", {"project": "OPS", "summary": "[RUN/3]"}),
}
PAGE = ("incident/page_on_call", {"team": "payments", "message": "[RUN/4]"})
# By number: the undo's tool, where the id goes, what else it takes, and where the marker goes. RESULT is the write's answer.
UNDOS: dict[int, tuple[str, dict[str, Any]]] = {
    1: ("update_incident", {"incident_id": "{{ RESULT.id }}", "status": "closed", "message": "undo [RUN/1]"}),
    2: ("cancel_change", {"change_id": "{{ RESULT.id }}", "reason": "undo [RUN/2]"}),
    3: ("delete_issue", {"issue_key": "{{ RESULT.id }}", "reason": "undo [RUN/3]"}),
}  # fmt: skip
UNDO_TOOLS = frozenset(tool for tool, _ in UNDOS.values())
PATTERNS = ["incident/*", "jira/*", "servicenow/*"]
# Where the agent's map finds the marker: in what the write was called with.
MARKED = {1: "name", 2: "short_description", 3: "summary"}
# The agent's model pages until this ends its run.
MOST_STEPS = 4


def workflow(key: str = WORKFLOW) -> dict[str, Any]:
    """Return the workflow of agent `key`, as it is saved; each undo has a marker of its own."""
    steps = []
    for number, (name, args) in WRITES.items():
        server, _, tool = name.partition("/")
        own = f"steps.w{number}.output"
        undo, undo_args = UNDOS[number]
        steps.append(
            {
                "id": f"w{number}",
                "type": "tool",
                "server": server,
                "tool": tool,
                "args": _filled(args, RUN="{{ run.id }}"),
                "compensate": {
                    "tool": undo,
                    "args": _filled(undo_args, **{"RESULT": own, "RUN/": "{{ run.id }}/1"}),
                },
            }
        )
    server, _, tool = PAGE[0].partition("/")
    page = {"id": "page", "type": "tool", "server": server, "tool": tool}
    steps.append({**page, "args": _filled(PAGE[1], RUN="{{ run.id }}")})
    return {
        "key": key,
        "name": "A saga on trial",
        "agent": key,
        "definition": {"steps": steps},
    }


def branched() -> dict[str, Any]:
    """Return the workflow whose writes stand, as it is saved."""
    steps = [
        _keyed(1),
        {"id": "both", "type": "parallel", "branches": {"left": [_keyed(2)], "right": [_keyed(3)]}},
    ]
    return {
        "key": BRANCHED,
        "name": "Branches on trial",
        "agent": BRANCHED,
        "definition": {"steps": steps},
    }


def _keyed(number: int) -> dict[str, Any]:
    server, _, tool = WRITES[1][0].partition("/")
    args = {"name": f"[{{{{ run.id }}}}/{number}]", "severity": "p3"}
    return {"id": f"w{number}", "type": "tool", "server": server, "tool": tool, "args": args}


def compensations() -> dict[str, Any]:
    """Return the map of an agent that makes the same writes."""
    return {
        name: {
            "tool": UNDOS[number][0],
            "args": _filled(UNDOS[number][1], **{f"[RUN/{number}]": f"{{{{ args.{MARKED[number]} }}}}", "RESULT": "result"}),
        }
        for number, (name, _) in WRITES.items()
    }  # fmt: skip


def script() -> list[dict[str, Any]]:
    """Return what the model of that agent says: each call in a step of its own."""
    return [
        {"text": "I do it.", "calls": [{"tool": name, "args": _filled(args, RUN="{{ run }}")}]}
        for name, args in (*WRITES.values(), PAGE)
    ]


def _filled(args: dict[str, Any], **words: str) -> dict[str, Any]:
    return {name: _replaced(text, words) for name, text in args.items()}


def _replaced(text: str, words: dict[str, str]) -> str:
    for word, by in words.items():
        text = text.replace(word, by)
    return text
