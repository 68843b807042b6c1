"""A delivery that is sent again to the other process, while its run goes on and after it ended (CR-05, FL-70)."""

from __future__ import annotations

import json
import signal
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from tests.fakes.signer import Replied, Signer, new_secret
from tests.processes.place import PACE_MS, WRITES_A_RUN, Place, make_whole
from tests.processes.test_outages import assert_kept
from tests.trials.scripts import AGENTS

pytestmark = [pytest.mark.timeout(300)]

SECRETS = {"PAGER_SECRET": new_secret(), "PAGER_SECRET_OLDER": new_secret()}
AHEAD = "SELECT extract(epoch FROM liyagent_now() - clock_timestamp())::float AS n"
ARRIVALS = "SELECT count(*)::int AS n FROM entry_arrival WHERE delivery_id = %s"
AN_HOUR_AGO = "UPDATE entry_arrival SET received_at = received_at - interval '1 hour' WHERE run_id = %s RETURNING run_id"
WRITE_MS = 6_000
STATE = "SELECT state AS n FROM entry_arrival WHERE run_id = %s"
EVENT: dict[str, Any] = {"number": "INC7", "version": 3, "text": "File two things.", "sent": "t0"}
TRIGGERS = {"desk": ("webhook", ""), "tickets": ("ticket", "{{ number }}@{{ version }}")}


@dataclass(frozen=True, slots=True, kw_only=True)
class AtHooks:
    """The place, and a sender that knows the newer secret."""

    place: Place
    ahead: float

    def send(self, payload: Any, *, to: str, of: str, trigger: str = "desk") -> Replied:
        """Send to process `to`; each attempt is signed at its own time, as the specification wants."""
        url = f"{self.place.stage.url(to)}/hooks/{trigger}"
        signer = Signer(url=url, secrets=[SECRETS["PAGER_SECRET"]], ahead=self.ahead)
        return signer.send(payload, message=of)


@pytest.fixture
def at_hooks(place: Place, tmp_path: Path) -> AtHooks:
    """Both processes know the trigger's secrets."""
    stage = place.stage
    is_known = set(SECRETS) <= set(stage.env)
    stage.env.update(SECRETS)
    sample = tmp_path / "sample.json"
    sample.write_text(json.dumps(EVENT))
    for key, (kind, delivery_id) in TRIGGERS.items():
        flags = {
            "kind": kind,
            "agent": AGENTS["keyed"],
            "started-by": "admin",
            "task": "{{ text }}",
            "delivery-id": delivery_id,
            "sample": str(sample),
        }
        words = [f"--{name}={it}" for name, it in flags.items() if it]
        stage.manage("webhooks", "save", key, *words, *(f"--secret-env={it}" for it in SECRETS))
    for name in () if is_known else ("A", "B"):
        stage.signal(name, signal.SIGKILL)
        stage.wait_gone(name)
    make_whole(stage)
    return AtHooks(place=place, ahead=float(place.one(AHEAD)))


@pytest.mark.promise("CR-05")
@pytest.mark.field("FL-70")
@pytest.mark.parametrize("trigger", TRIGGERS)
def test_a_delivery_sent_again_to_the_other_process_is_one_run_for_ever(
    at_hooks: AtHooks, trigger: str
) -> None:
    place, of = at_hooks.place, f"msg-{trigger}"
    # A process that has just begun is slow; the first write is long enough to be sent again meanwhile.
    assert at_hooks.send({}, to="B", of="no-payload").status == 422
    place.stage.vendors.set_pace("incident", before_ms=0, after_ms=WRITE_MS)
    first = at_hooks.send(EVENT, to="A", of=of, trigger=trigger)
    assert first.status == 202, first.body
    run = UUID(first.json()["id"])
    place.wait_for_requests("incident", [run])
    # The first goes on. Of a ticket's event the id of the message may be another at each attempt.
    later = of if trigger == "desk" else f"{of}-again"
    while_it_runs = at_hooks.send({**EVENT, "sent": "t1"}, to="B", of=later, trigger=trigger)
    assert place.one(STATE, run) == "started"
    place.stage.set_pace(PACE_MS)
    place.wait_for_ends([run])
    place.watch.rows(AN_HOUR_AGO, [run])
    after = [
        at_hooks.send({**EVENT, "sent": "t2"}, to=it, of=later, trigger=trigger) for it in "BA"
    ]
    with ThreadPoolExecutor(8) as pool:
        at_once = list(
            pool.map(
                lambda n: at_hooks.send(
                    {**EVENT, "sent": n}, to="AB"[n % 2], of=later, trigger=trigger
                ),
                range(8),
            )
        )
    assert {(it.status, it.body) for it in (while_it_runs, *after, *at_once)} == {(202, first.body)}
    assert place.effects([run])["incident"] == 2
    assert_kept(place.judged([run], asked=WRITES_A_RUN))


@pytest.mark.field("FL-70")
def test_a_delivery_sent_to_both_processes_at_once_is_one_run(at_hooks: AtHooks) -> None:
    place = at_hooks.place
    with ThreadPoolExecutor(12) as pool:
        answers = list(
            pool.map(
                lambda n: at_hooks.send({**EVENT, "sent": n}, to="AB"[n % 2], of="msg-at-once"),
                range(12),
            )
        )
    assert {it.status for it in answers} == {202}
    (run,) = {UUID(it.json()["id"]) for it in answers}
    assert place.one(ARRIVALS, "msg-at-once") == 1
    place.wait_for_ends([run])
    assert_kept(place.judged([run], asked=WRITES_A_RUN))


@pytest.mark.promise("CR-05")
def test_a_call_whose_process_is_killed_ends_on_the_other_and_is_the_same_run(
    at_hooks: AtHooks,
) -> None:
    place = at_hooks.place
    first = at_hooks.send(EVENT, to="A", of="msg-killed")
    run = UUID(first.json()["id"])
    place.wait_for_requests("incident", [run])
    place.stage.signal("A", signal.SIGKILL)
    assert at_hooks.send(EVENT, to="B", of="msg-killed").body == first.body
    place.wait_for_ends([run])
    assert at_hooks.send(EVENT, to="B", of="msg-killed").body == first.body
    assert [it["status"] for it in place.heads([run])] == ["answered"]
    assert_kept(place.judged([run], asked=WRITES_A_RUN))
