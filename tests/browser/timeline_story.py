"""A night to be read afterwards: a run whose process is lost while two agents work for it, one that asks a person, one whose record is edited."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import UUID

import psycopg
import yaml

from liyagent.core.canonical import canonical
from tests.browser.scene import lose_a
from tests.processes.place import Place, make_whole

# How many steps of two events each the long run has.
LONG_STEPS = 1000
NIGHT: list[dict[str, Any]] = [
    {"text": "I look whether somebody is at it, and file the change.", "calls": [
        {"tool": "incident/list_incidents"},
        {"tool": "servicenow/create_change", "args": {"short_description": "grow /var [{{ run }}/9]"}},
        {"tool": "jira/search_issues"},
        {"tool": "incident/no_such_tool"},
    ]},
    {"text": "Those for incidents shall open one.", "calls": [{"tool": "agents/triage-keyed", "args": {"task": "web-17 is at 91 %"}}]},
    {"text": "All is filed, but for what nobody knows."},
]  # fmt: skip
ASKS: list[dict[str, Any]] = [
    {"text": "This wants a person.", "calls": [{"tool": "jira/create_issue", "args": {"project": "OPS", "summary": "clear /var [{{ run }}/1]"}}]},
    {"text": "It was filed."},
]  # fmt: skip
SET_UP = """
from django.contrib.auth.models import Permission, User
from liyagent.agents.definitions import save_agent
from liyagent.gateway.policy_versions import load_policy
load_policy('@id("all")\\npermit (principal, action, resource);', name="all", actor="olga")
for key, posture in (("night", "allow"), ("asks", "hold")):
    save_agent({"key": key, "name": key, "provider": "scripted", "model": key, "recording": "full", "may_wait": True,
        "tool_patterns": ["incident/*", "jira/*", "servicenow/*", "agents/triage-keyed"], "write_posture": posture}, actor="olga")
decide = Permission.objects.get(codename="decide", content_type__app_label="approvals")
User.objects.create_user("dora").user_permissions.add(decide)
"""
TAMPERED = """
ALTER TABLE events_runevent DISABLE TRIGGER ALL;
UPDATE events_runevent SET content = replace(content, 'disk 91', 'disk 19') WHERE run_id = '{run}' AND number = (
    SELECT max(number) - 2 FROM events_runevent WHERE run_id = '{run}');
ALTER TABLE events_runevent ENABLE TRIGGER ALL;
"""
OWED = "UPDATE runs_run SET events_missing = 3 WHERE id = %s"
# As a release before tags wrote it: nothing of it is tagged, and its head says so.
LONG = "SELECT liyagent_append_events(%s, %s, 'nightly', 'full', %s, %s)"
UNTAGGED = "UPDATE events_eventhead SET untagged = count WHERE correlation_id = %s"
COPY = """
INSERT INTO runs_run SELECT (jsonb_populate_record(r, jsonb_build_object('id', %s::uuid, 'correlation_id', %s::uuid,
    'model_steps', %s, 'calls_made', %s, 'loop', 'root', 'events_missing', 0, 'mission', 'nightly'))).* FROM runs_run r WHERE r.id = %s
"""
HEAD = """
INSERT INTO events_eventhead (correlation_id, count, hash)
    VALUES (%s, 0, sha256(convert_to('liyagent/event/v1' || %s::text, 'UTF8')))
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Story:
    """Its runs: `night` was lost and taken over, `asked` was approved, `broken` was edited, `long` has 2,000 events."""

    night: UUID
    asked: UUID
    broken: UUID
    long: UUID


def tell_story(place: Place) -> Story:
    """Let all of it happen, but for the long one, which is written into the log."""
    make_whole(place.stage)
    _agents(place)
    (broken,) = place.start_runs("keyed", at="B")
    place.wait_for_ends([broken])
    lost = lose_a(place, "night", vendor="servicenow")
    approved = _asked(place)
    long = UUID("01a22aa6-24a9-79f2-bf4e-000000002000")
    with psycopg.connect(place.stage.database_url, autocommit=True) as connection:
        connection.execute(TAMPERED.format(run=broken).encode())
        connection.execute(OWED, [broken])
        _long(connection, long, like=broken)
    return Story(night=lost, asked=approved, broken=broken, long=long)


def _agents(place: Place) -> None:
    """Two agents more: one that hands work down and files, one that asks; and somebody who decides."""
    scripts = Path(place.stage.env["LIYAGENT_SCRIPTS_DIR"])
    for key, steps in (("night", NIGHT), ("asks", ASKS)):
        (scripts / f"{key}.yaml").write_text(yaml.safe_dump({"steps": steps}))
    place.stage.manage("shell", "-c", SET_UP)


def _asked(place: Place) -> UUID:
    (run,) = place.start_runs("asks", at="B")
    place.until(lambda: place.heads([run])[0]["status"] == "waiting", "a run that asks")
    request = place.one("SELECT id FROM approvals_approval WHERE run_id = %s", run)
    place.stage.manage(
        "approvals", "approve", str(request), "--user", "dora", "--reason", "looks right"
    )
    place.wait_for_ends([run])
    return run


def _long(connection: psycopg.Connection[Any], run: UUID, *, like: UUID) -> None:
    connection.execute(COPY, [run, run, LONG_STEPS, LONG_STEPS - 1, like])
    connection.execute(HEAD, [run, run])
    kinds, contents = ["run.started"], [canonical({"agent": "triage-keyed", "version": 1, "entry": "api", "started_by": "olga", "holder": "B", "task": "count"})]  # fmt: skip
    counts = {"input_tokens": 900, "output_tokens": 40, "cost_micros": 0}
    for number in range(1, LONG_STEPS + 1):
        is_last = number == LONG_STEPS
        asks = [] if is_last else ["incident/list_incidents"]
        kinds.append("step")
        contents.append(canonical({"step": number, "finish": "stop" if is_last else "calls", **counts, "calls": asks, "text": f"Round {number}."}))  # fmt: skip
        if not is_last:
            kinds.append("tool.call")
            contents.append(canonical({"step": number, "index": 0, "server": "incident", "tool": "list_incidents", "effect": "read",
                "fate": "failed" if number % 97 == 0 else "done", "posture": "posture", "gate": "", "policy": "c" * 64, "key": "",
                "settlement": "", "ms": 12, "args": {}, "result": "busy" if number % 97 == 0 else []}))  # fmt: skip
    kinds.append("run.ended")
    totals = {name: it * LONG_STEPS for name, it in counts.items()}
    contents.append(canonical({"status": "answered", "reason": "", "error": "", "steps": LONG_STEPS, "calls": LONG_STEPS - 1, **totals, "unsettled": [], "losses": 0, "answer": "done"}))  # fmt: skip
    connection.execute(LONG, [run, run, kinds, [it.decode() for it in contents]])
    connection.execute(UNTAGGED, [run])
