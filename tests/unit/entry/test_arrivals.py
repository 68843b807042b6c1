"""What comes in is kept before anybody is answered, is one run however often it comes, and is started by whoever lives."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any
from uuid import UUID

import pytest
from django.db import connection, transaction

from liyagent.agents.models import Agent
from liyagent.audit.models import AuditRow
from liyagent.core.errors import BadInput
from liyagent.core.transactions import InTransaction
from liyagent.entry.arrive import Arrived, Arriving, Owed, arrive, keep_arrival
from liyagent.entry.begin import begin_arrival, begin_due, check_begun
from liyagent.entry.errors import ArrivalRefused
from liyagent.entry.models import Arrival, Delivery
from liyagent.leases.holding import end_holder
from liyagent.leases.own import OWN
from runs.errors import NotStarted
from runs.models import Run
from tests.unit.runs.carrying.conftest import World, never, says


def arriving(delivery: str = "d-1", **facts: Any) -> Arriving:
    known: dict[str, Any] = {
        "way": "webhook",
        "source": "pager",
        "agent_key": "triage",
        "started_by": "ops",
        "words": {"task": "disk full on db-1"},
        **facts,
    }
    return Arriving(delivery_id=delivery, **known)


def overdue(world: World) -> None:
    """Whoever received it has died: its ten seconds are over."""
    world.sql("UPDATE entry_arrival SET claimed_until = liyagent_now() - interval '1 s'")


def test_an_arrival_is_started_as_the_run_that_it_named_from_the_first(world: World) -> None:
    world.model.steps = [says("grown")]
    arrived = arrive(arriving(mission="m-1", request_id="r-1"))
    begun = begin_arrival(arrived.run_id)
    run = Run.objects.get(id=arrived.run_id)
    assert (begun.state, run.entry, run.started_by) == ("started", "webhook", "ops")
    assert (run.mission, run.request_id) == ("m-1", "r-1")
    assert begun.sealed is None
    world.process().carry()
    ended = Arrival.objects.get(run_id=run.id)
    assert (ended.state, ended.outcome) == ("ended", "answered")
    assert ended.ended_at == Run.objects.get(id=run.id).ended_at


def test_the_words_of_an_arrival_are_sealed(world: World) -> None:
    arrived = arrive(arriving(words={"task": "the secret is plumtree"}))
    sealed = bytes(Arrival.objects.get(run_id=arrived.run_id).sealed or b"")
    assert sealed
    assert b"plumtree" not in sealed


@pytest.mark.field("FL-70")
def test_the_same_delivery_is_one_arrival_whatever_its_body_and_process(world: World) -> None:
    first = arrive(arriving("d-7"))

    def again(number: int) -> Arrived:
        try:
            return arrive(arriving("d-7", words={"task": f"at {number}"}, body_digest=str(number)))
        finally:
            connection.close()

    with ThreadPoolExecutor(8) as pool:
        repeats = list(pool.map(again, range(40)))
    assert {it.run_id for it in repeats} == {first.run_id}
    assert not any(it.is_new for it in repeats)
    assert Arrival.objects.count() == 1


def test_another_source_may_use_the_same_id(world: World) -> None:
    first = arrive(arriving("1"))
    second = arrive(arriving("1", source="other"))
    assert first.run_id != second.run_id


@pytest.mark.promise("CR-05")
def test_what_was_received_by_a_process_that_died_is_started_by_another_once(
    world: World,
) -> None:
    world.model.steps = [says("done")]
    arrived = arrive(arriving())
    assert begin_due(never) == 0
    overdue(world)
    assert begin_due(never) == 1
    assert begin_due(never) == 0
    assert Run.objects.filter(id=arrived.run_id).count() == 1


@pytest.mark.promise("CR-05")
def test_what_a_dead_process_had_in_hand_is_started_as_soon_as_its_death_is_known(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.model.steps = [says("done")]
    process = world.process()
    monkeypatch.setattr(OWN, "holder", process.holder)
    arrived = arrive(arriving())
    assert begin_due(never) == 0
    end_holder(process.holder)
    assert begin_due(never) == 1
    assert Run.objects.filter(id=arrived.run_id).exists()


def test_many_that_find_it_start_it_once(world: World) -> None:
    world.model.steps = [says("done")]
    arrived = arrive(arriving())
    overdue(world)

    def look(_number: int) -> None:
        try:
            begin_arrival(arrived.run_id)
            begin_due(never)
        finally:
            connection.close()

    with ThreadPoolExecutor(6) as pool:
        list(pool.map(look, range(12)))
    assert Run.objects.count() == 1
    assert AuditRow.objects.filter(action="agent.run.started").count() == 1


def test_an_agent_that_may_not_start_it_refuses_it_for_good_and_says_why(world: World) -> None:
    Agent.objects.update(channels=["api"])
    arrived = arrive(arriving(owed=(Owed(kind="answer", address={}),)))
    refused = begin_arrival(arrived.run_id)
    assert refused.state == "refused"
    assert "triage permits runs by api, not by webhook" in refused.reason
    assert Delivery.objects.get(run_id=arrived.run_id).state == "pending"
    assert world.audit("entry.refused")[0]["delivery"] == "d-1"
    with pytest.raises(ArrivalRefused, match="not by webhook"):
        check_begun(refused)
    Agent.objects.update(channels=["*"])
    assert begin_arrival(arrived.run_id).state == "refused"
    assert not Run.objects.exists()


def test_one_that_was_started_unseen_is_not_refused_after_its_agent_was_closed(
    world: World,
) -> None:
    world.model.steps = [says("done")]
    arrived = arrive(arriving())
    begin_arrival(arrived.run_id)
    world.sql("UPDATE entry_arrival SET state = 'received'")
    Agent.objects.update(channels=["api"])
    assert begin_arrival(arrived.run_id).state == "started"
    assert not world.audit("entry.refused")


def test_a_start_that_the_database_could_not_take_is_tried_again_and_given_up_after_a_day(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    def away(*_args: Any, **_facts: Any) -> None:
        raise NotStarted("the database is away")

    world.model.steps = [says("done")]
    arrived = arrive(arriving())
    with monkeypatch.context() as patch:
        patch.setattr("runs.start.begin_run", away)
        assert begin_arrival(arrived.run_id).state == "received"
        world.sql("UPDATE entry_arrival SET give_up_at = liyagent_now() - interval '1 s'")
        late = arrive(arriving("d-2"))
        assert begin_arrival(late.run_id).state == "received"
        given_up = begin_arrival(arrived.run_id)
    assert given_up.state == "refused"
    assert given_up.reason.startswith("not started for a day")
    world.sql("UPDATE entry_arrival SET next_at = liyagent_now()")
    assert begin_due(never) == 1
    assert Arrival.objects.get(run_id=late.run_id).state == "started"


def test_a_skipped_one_is_kept_and_never_started(world: World) -> None:
    arrived = arrive(arriving(skipped="the one before still runs"))
    skipped = begin_arrival(arrived.run_id)
    assert (skipped.state, skipped.sealed) == ("skipped", None)
    overdue(world)
    assert begin_due(never) == 0


@pytest.mark.parametrize("delivery", ["", "x" * 256])
def test_an_id_that_cannot_be_kept_is_refused(world: World, delivery: str) -> None:
    with pytest.raises(BadInput, match="1 to 255"):
        arrive(arriving(delivery))
    assert not Arrival.objects.exists()


def test_nothing_is_started_inside_a_transaction(world: World) -> None:
    with pytest.raises(InTransaction), transaction.atomic():
        begin_arrival(keep_arrival(arriving()).run_id)


def test_what_is_owed_falls_due_in_the_commit_that_ends_the_run(world: World) -> None:
    world.model.steps = [says("done")]
    arrived = arrive(arriving(owed=(Owed(kind="answer", address={"to": "x"}),)))
    begin_arrival(arrived.run_id)
    assert states(arrived.run_id) == ["waiting"]
    world.process().carry()
    assert states(arrived.run_id) == ["pending"]


def states(run_id: UUID) -> list[str]:
    return list(Delivery.objects.filter(run_id=run_id).values_list("state", flat=True))
