"""A call is kept before it is answered, is one run however often it comes, and what is refused starts nothing."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from django.db import connection

from liyagent.agents.models import Agent
from liyagent.core.errors import LiyagentError
from liyagent.entry.begin import begin_due
from liyagent.entry.forget import forget_old
from liyagent.entry.models import Arrival
from liyagent.entry.webhooks import receive
from liyagent.entry.webhooks.models import Trigger
from liyagent.transcripts.models import Transcript
from runs.models import Run
from tests.unit.entry.webhooks.conftest import ALERT, TASK, Hooks, arrival_of
from tests.unit.runs.carrying.conftest import never, says


@pytest.mark.promise("CR-05")
def test_a_call_becomes_a_run_whose_answer_lands_on_its_transcript(hooks: Hooks) -> None:
    hooks.world.model.steps = [says("cleaned /var")]
    arrival = arrival_of(hooks.post())
    assert (arrival.state, arrival.way, arrival.source) == ("started", "webhook", "pager")
    run = Run.objects.get(id=arrival.run_id)
    assert (run.entry, run.started_by, run.is_written_ahead) == ("webhook", "olga", True)
    hooks.world.process().carry()
    arrival.refresh_from_db()
    assert (arrival.state, arrival.outcome) == ("ended", "answered")
    assert hooks.world.model.asked[0].messages[-1].text == "disk full on db-1"
    assert Transcript.objects.filter(run_id=run.id).exists()


@pytest.mark.field("FL-70")
def test_a_delivery_that_comes_again_is_the_same_run_whatever_its_body(hooks: Hooks) -> None:
    hooks.world.model.steps = [says("done")]
    first = hooks.post(of="d-7")
    again = [
        hooks.post({**ALERT, "at": "later"}, of="d-7"),
        hooks.post({"other": "shape"}, of="d-7"),
        hooks.post(b"no json", of="d-7"),
    ]
    hooks.world.process().carry()
    again.append(hooks.post(of="d-7", age=200))
    assert {(it.status_code, it.content) for it in again} == {(202, first.content)}
    assert Run.objects.count() == Arrival.objects.count() == 1


@pytest.mark.field("FL-70")
def test_many_at_once_are_one_run(hooks: Hooks) -> None:
    hooks.world.model.steps = [says("done")]

    def send(number: int) -> Any:
        try:
            return hooks.post({**ALERT, "number": number}, of="d-8")
        finally:
            connection.close()

    with ThreadPoolExecutor(6) as pool:
        answers = list(pool.map(send, range(12)))
    assert {it.status_code for it in answers} == {202}
    assert len({it.json()["id"] for it in answers}) == 1
    assert Run.objects.count() == 1


@pytest.mark.field("FL-70")
def test_a_ticket_event_is_named_by_its_id_and_the_version_of_its_object(hooks: Hooks) -> None:
    hooks.world.model.steps = [says("done")]
    event = {"id": "inc-1", "version": 4, "host": "db-1", "problem": "disk full"}
    hooks.save(delivery_id="{{ id }}@{{ version }}", sample=event)
    first, again = hooks.post(event), hooks.post({**event, "sent": "later"})
    later = hooks.post({**event, "version": 5})
    assert first.json() == again.json() != later.json()
    assert arrival_of(first).delivery_id == "inc-1@4"
    assert Run.objects.count() == 2


@pytest.mark.field("FL-70")
def test_what_was_received_is_known_for_thirty_days_after_it_ended(hooks: Hooks) -> None:
    hooks.world.model.steps = [says("done")]
    hooks.post(of="d-9")
    hooks.world.process().carry()
    age = "UPDATE entry_arrival SET ended_at = ended_at - interval '{} days'"
    hooks.world.sql(age.format(29))
    forget_old(never)
    hooks.post(of="d-9")
    assert Run.objects.count() == 1
    hooks.world.sql(age.format(2))
    forget_old(never)
    assert not Arrival.objects.exists()


@pytest.mark.promise("CR-05")
def test_a_call_whose_start_fails_is_accepted_and_started_by_whoever_lives(
    hooks: Hooks, monkeypatch: pytest.MonkeyPatch
) -> None:
    hooks.world.model.steps = [says("done")]

    def dies(_run_id: Any) -> None:
        raise LiyagentError("it died here")

    with monkeypatch.context() as patch:
        patch.setattr(receive, "begin_arrival", dies)
        arrival = arrival_of(hooks.post())
    assert arrival.state == "received"
    hooks.world.sql("UPDATE entry_arrival SET claimed_until = liyagent_now() - interval '1 s'")
    assert begin_due(never) == 1
    arrival.refresh_from_db()
    assert arrival.state == "started"


@pytest.mark.parametrize("closed", [{"is_contained": True}, {"channels": ["api"]}])
def test_an_agent_that_may_not_start_it_answers_why_and_the_same_at_each_repeat(
    hooks: Hooks, closed: dict[str, Any]
) -> None:
    Agent.objects.update(**closed)
    first = hooks.post(of="d-1")
    assert first.status_code == 409, first.content
    assert first.json()["code"] == "arrival.refused"
    Agent.objects.update(is_contained=False, channels=["*"])
    again = hooks.post(of="d-1")
    assert (again.status_code, again.json()["detail"]) == (409, first.json()["detail"])
    assert not Run.objects.exists()
    assert hooks.world.audit("entry.refused")[0]["source"] == "pager"


def test_what_the_filter_does_not_want_is_accepted_and_ignored(hooks: Hooks) -> None:
    hooks.save(filter="problem == 'disk full' && !test", sample=ALERT)
    answer = hooks.post({"test": True, "problem": "disk full"}, of="d-3")
    assert (answer.status_code, answer.json()) == (202, {"id": None, "state": "ignored"})
    skipped = Arrival.objects.get()
    assert (skipped.state, skipped.reason) == ("skipped", receive.NOT_WANTED)
    assert hooks.post(ALERT, of="d-3").json() == {"id": None, "state": "ignored"}
    assert not Run.objects.exists()


def test_a_payload_that_does_not_fit_is_told_and_may_come_again_once_the_mapping_is_mended(
    hooks: Hooks,
) -> None:
    hooks.world.model.steps = [says("done")]
    payload = {"node": "db-1", "problem": "secret word"}
    for _ in range(3):
        refused = hooks.post(payload, of="d-4")
    assert (refused.status_code, refused.json()["code"]) == (422, "webhooks.payload_misfit")
    (error,) = refused.json()["errors"]
    assert error["field"] == "mapping.task"
    assert "'host' leads nowhere" in error["detail"]
    assert not Arrival.objects.exists()
    (told,) = hooks.world.audit("webhooks.misfit")
    assert told["trigger"] == "pager"
    assert "secret word" not in str(told)
    trigger = Trigger.objects.get()
    assert (trigger.misfits, trigger.misfit_why) == (3, told["why"])
    hooks.save(mapping={"task": "{{ problem }} on {{ node }}"}, sample=payload)
    assert arrival_of(hooks.post(payload, of="d-4")).state == "started"


@pytest.mark.promise("MI-01")
def test_the_mappings_mission_goes_before_the_calls_own(hooks: Hooks) -> None:
    hooks.world.model.steps = [says("done")]
    hooks.save(mapping={"task": TASK, "mission": "host-{{ host }}"}, sample=ALERT)
    arrival = arrival_of(hooks.post(headers={"X-Liyagent-Mission": "another"}))
    assert arrival.mission == "host-db-1"
    unfit = hooks.post({**ALERT, "host": "db 1"})
    assert unfit.json()["errors"][0]["field"] == "mapping.mission"
    hooks.save(mapping={"task": TASK}, sample=ALERT)
    named = hooks.post(of="d-7", headers={"baggage": "liyagent.mission=INC-7"})
    assert arrival_of(named).mission == "INC-7"


def test_a_lone_path_to_an_object_is_asked_as_json(hooks: Hooks) -> None:
    hooks.world.model.steps = [says("done")]
    hooks.save(mapping={"task": "{{ alert }}"}, sample={"alert": ALERT})
    hooks.post({"alert": ALERT})
    hooks.world.process().carry()
    assert json.loads(hooks.world.model.asked[0].messages[-1].text) == ALERT


def test_a_burst_is_told_when_to_come_again_and_keeps_what_was_accepted(hooks: Hooks) -> None:
    hooks.world.model.steps = [says("done")]
    hooks.save(most_a_minute=3)
    taken = [hooks.post(of=f"b-{number}") for number in range(3)]
    refused = hooks.post(of="b-4")
    assert refused.status_code == 429
    assert 50 <= int(refused.headers["Retry-After"]) <= 60
    assert hooks.post(of="b-1").json() == taken[1].json()
    assert Arrival.objects.count() == 3
    hooks.world.sql("UPDATE entry_arrival SET received_at = received_at - interval '61 s'")
    assert hooks.post(of="b-4").status_code == 202
    assert {it.status_code for it in taken} == {202}


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (b"not json", "cannot be used"),
        (b"\xff", "UTF-8"),
        (b'"text"', "an object or a list"),
        (b'{"host": 1, "host": 2}', "stands twice"),
        (b'{"host": NaN}', "no JSON number"),
        (b'{"host": ' + b"[" * 200 + b"]" * 200 + b"}", "nested deeper"),
        (b'{"host": ' + b"[" * 100_000, "nested too deeply"),
    ],
)
def test_a_body_that_is_no_json_to_be_used_is_refused(hooks: Hooks, body: bytes, said: str) -> None:
    refused = hooks.post(body)
    assert refused.status_code == 400
    assert said in refused.json()["detail"]
    assert not Arrival.objects.exists()


def test_more_than_256_kib_and_other_types_are_refused(hooks: Hooks) -> None:
    large = hooks.post({**ALERT, "more": "x" * (256 << 10)})
    assert (large.status_code, large.json()["code"]) == (413, "body.too_large")
    assert hooks.post(headers={"content_type": "text/plain"}).status_code == 415
    assert (
        hooks.post(headers={"content_type": "application/json; charset=utf-8"}).status_code == 202
    )


def test_a_trigger_that_is_switched_off_takes_nothing(hooks: Hooks) -> None:
    Trigger.objects.update(is_enabled=False)
    refused = hooks.post()
    assert (refused.status_code, refused.json()["code"]) == (403, "webhooks.trigger_disabled")
    assert not Arrival.objects.exists()
