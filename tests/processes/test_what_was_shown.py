"""What was shown to who decides is what a process sends; what a policy makes of it since is asked anew (FL-57)."""

from __future__ import annotations

import json
from typing import Any
from uuid import UUID

import httpx2
import pytest

from liyagent.approvals.digests import digest_of
from runs.keys import approved_call_key
from tests.processes.asking import KIND, Asking, Request, asking, tokens
from tests.processes.place import Place
from tests.processes.racing import Decision, Shot
from tests.processes.test_approval_races import nobody_takes
from tests.trials.scripts import AGENTS

__all__ = ["asking", "tokens"]

# The first test of this file waits for all that is set up.
pytestmark = [pytest.mark.timeout(180), pytest.mark.field("FL-57")]

VENDOR, TOOL = "servicenow", "create_incident"
TO_USERS = "add kim to vpn-users [{{ run }}/1]"
REWRITES = """
    INSERT INTO gateway_datapolicy (name, kind, regex, path, tools, action, is_enabled, created_by)
        VALUES ('groups', 'regex', 'vpn-users', '*', '*', 'mask', true, '') RETURNING id
"""
NO_MORE = "DELETE FROM gateway_datapolicy WHERE name = 'groups' RETURNING id"
STAND = """
    SELECT status, replaces, settled_reason FROM approvals_approval WHERE run_id = %s ORDER BY created_at
"""


def shown(place: Place, request: Request) -> dict[str, Any]:
    """All that the API tells of a request to who may read its words."""
    answer = httpx2.get(
        f"{place.stage.url('B')}/api/approvals/{request.id}",
        headers={"Authorization": f"Bearer {place.stage.token}"},
        timeout=30,
    )
    assert answer.status_code == 200
    told: dict[str, Any] = answer.json()
    return told


def sent(place: Place, run: UUID) -> list[tuple[str, dict[str, Any]]]:
    """Key and arguments of each write of this run that the vendor received."""
    return [
        (it["step_key"], it["args"])
        for it in place.stage.vendors.ledger(VENDOR)["requests"]
        if f"[{run}/1]" in json.dumps(it["args"])
    ]


def approve(asking: Asking, request: Request, *, by: str) -> None:
    shot = Shot(Decision(request=request, at="A", by=by), asking)
    shot.fire()
    assert shot.answer().status == 200


def test_what_is_shown_and_hashed_is_what_is_sent_and_a_default_is_the_vendor_s_own_matter(
    asking: Asking,
) -> None:
    place = asking.place
    asking.say(f"{VENDOR}/{TOOL}", {"short_description": TO_USERS})
    (request,) = asking.ask(1)
    told = shown(place, request)
    words = TO_USERS.replace("{{ run }}", str(request.run))
    assert told["arguments"] == {"short_description": words}
    assert request.digest == digest_of(
        server=VENDOR,
        tool=TOOL,
        args=told["arguments"],
        agent=AGENTS[KIND],
        run_as=told["run_as"],
        policy_fingerprint=told["policy_fingerprint"],
    )
    approve(asking, request, by="xena")
    place.wait_for_ends([request.run])
    filled_in = {"urgency": "3"}
    assert sent(place, request.run) == [
        (approved_call_key(request.id), {**told["arguments"], **filled_in})
    ]


@pytest.mark.promise("CR-14")
def test_what_a_policy_rewrites_after_the_approval_is_not_sent_and_is_asked_anew(
    asking: Asking,
) -> None:
    place = asking.place
    asking.say(f"{VENDOR}/{TOOL}", {"short_description": TO_USERS})
    (first,) = asking.ask(1)
    try:
        with nobody_takes(place):
            approve(asking, first, by="xena")
            place.watch.rows(REWRITES)
        (second,) = asking.filed([first.run])
        assert second.digest != first.digest
        assert sent(place, first.run) == []
        told = shown(place, second)
        assert "vpn-users" not in told["arguments"]["short_description"]
        approve(asking, second, by="yuri")
        place.wait_for_ends([first.run])
    finally:
        place.watch.rows(NO_MORE)
    assert sent(place, first.run) == [
        (approved_call_key(second.id), {**told["arguments"], "urgency": "3"})
    ]
    was, now = place.watch.rows(STAND, [first.run])
    assert (was["status"], now["status"], now["replaces"]) == ("stale", "consumed", first.id)
    assert "the arguments" in was["settled_reason"]
