"""What is owed is claimed, marked, sent and settled: by one at a time, by whoever lives, and told when nobody can tell."""

from __future__ import annotations

import json
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

import pytest
from django.db import DatabaseError, connection, transaction

from liyagent.core.transactions import InTransaction
from liyagent.entry.arrive import Arriving, Owed, arrive
from liyagent.entry.begin import begin_arrival
from liyagent.entry.deliver import LostDelivery, deliver_due
from liyagent.entry.models import Delivery
from liyagent.entry.pages import receiver_of
from liyagent.entry.ways import SENDERS, Mark, Sent
from liyagent.leases.own import OWN
from runs.models import Run
from runs.transcript import read_transcript
from tests.flows.conftest import api_of, make_user
from tests.unit.runs.carrying.conftest import World, never, says
from tests.unit.runs.carrying.vendor import Killed


@dataclass(slots=True)
class Far:
    """The other end of a way: what it was sent, and what it does next."""

    ledger: list[tuple[int, str, bool]] = field(default_factory=list)
    does: list[Callable[[Mark], Sent]] = field(default_factory=list)

    def send(self, delivery: Delivery, is_in_doubt: bool, mark: Mark) -> Sent:
        turn = self.does.pop(0) if self.does else told
        sent = turn(mark)
        words = read_transcript(Run.objects.get(id=delivery.run_id))["answer"]
        self.ledger.append((delivery.number, words, is_in_doubt))
        return sent


def told(mark: Mark) -> Sent:
    mark()
    return Sent(vendor_id="v-1")


def died(mark: Mark) -> Sent:
    mark()
    raise Killed


def cut_off(mark: Mark) -> Sent:
    mark()
    raise DatabaseError


def look_and_close() -> int:
    try:
        return deliver_due(never, way="webhook")
    finally:
        connection.close()


def lost_the_answer(mark: Mark) -> Sent:
    mark()
    return Sent(error="the connection was reset", may_have_arrived=True)


def refused(mark: Mark) -> Sent:
    mark()
    return Sent(error="HTTP 404: the conversation is gone", is_final=True)


def cannot_tell(mark: Mark) -> Sent:
    mark()
    return Sent(error="HTTP 500", may_have_arrived=True, is_unconfirmed=True)


def refused_for_now(mark: Mark) -> Sent:
    mark()
    return Sent(error="HTTP 429", wanted_pause=1)


def is_down(_mark: Mark) -> Sent:
    return Sent(error="no route", is_down=True, wanted_pause=30)


@pytest.fixture
def far(world: World, monkeypatch: pytest.MonkeyPatch) -> Far:
    it = Far()
    monkeypatch.setitem(SENDERS, "webhook", it.send)
    return it


def answered(world: World, *kinds: str, number: int = 0) -> Run:
    """An arrival whose run has ended: its deliveries are due."""
    world.model.steps = [says(f"answer {number}")]
    arrived = arrive(
        Arriving(
            way="webhook",
            source="pager",
            delivery_id=f"d-{number}",
            agent_key="triage",
            started_by="ops",
            words={"task": "look"},
            owed=[Owed(kind=it, address={}, number=index) for index, it in enumerate(kinds)],
        )
    )
    begin_arrival(arrived.run_id)
    return world.process().carry()


def due_again(world: World) -> None:
    world.sql(
        "UPDATE entry_delivery SET next_at = liyagent_now() - interval '1 s', claimed_until = NULL"
    )


@pytest.mark.promise("CR-08")
def test_the_answer_of_a_run_that_ended_elsewhere_is_handed_on_without_running_anything(
    world: World, far: Far
) -> None:
    run = answered(world, "answer")
    asked = len(world.model.asked)
    assert deliver_due(never, way="webhook") == 1
    assert deliver_due(never, way="webhook") == 0
    assert far.ledger == [(0, "answer 0", False)]
    assert len(world.model.asked) == asked
    delivery = Delivery.objects.get(run_id=run.id)
    assert (delivery.state, delivery.vendor_id, delivery.marked_at) == ("delivered", "v-1", None)


def test_nothing_is_handed_on_before_the_run_has_ended(world: World, far: Far) -> None:
    answered(world, "answer")
    world.sql("UPDATE entry_delivery SET state = 'waiting'")
    assert deliver_due(never, way="webhook") == 0
    assert not far.ledger


def test_many_at_once_send_each_once(world: World, far: Far) -> None:
    for number in range(6):
        answered(world, "answer", number=number)

    def look(_number: int) -> int:
        try:
            return deliver_due(never, way="webhook")
        finally:
            connection.close()

    with ThreadPoolExecutor(6) as pool:
        tried = sum(pool.map(look, range(6)))
    assert tried == 6
    assert len({words for _, words, _ in far.ledger}) == len(far.ledger) == 6


def test_whoever_comes_after_a_death_knows_that_the_sending_is_in_doubt(
    world: World, far: Far
) -> None:
    answered(world, "answer")
    far.does = [died]
    with pytest.raises(Killed):
        deliver_due(never, way="webhook")
    assert deliver_due(never, way="webhook") == 0
    due_again(world)
    assert deliver_due(never, way="webhook") == 1
    assert far.ledger == [(0, "answer 0", True)]


@pytest.mark.parametrize("then", [is_down, refused_for_now])
def test_a_lost_answer_leaves_it_in_doubt_until_one_is_told(
    world: World, far: Far, then: Callable[[Mark], Sent]
) -> None:
    answered(world, "answer")
    far.does = [lost_the_answer, then]
    for _ in range(3):
        deliver_due(never, way="webhook")
        due_again(world)
    assert [is_in_doubt for _, _, is_in_doubt in far.ledger] == [False, True, True]
    assert Delivery.objects.get().marked_at is None


def test_a_refusal_leaves_nothing_in_doubt(world: World, far: Far) -> None:
    answered(world, "answer")
    far.does = [refused_for_now]
    for _ in range(2):
        deliver_due(never, way="webhook")
        due_again(world)
    assert [is_in_doubt for _, _, is_in_doubt in far.ledger] == [False, False]


def test_the_earlier_of_a_run_goes_first(world: World, far: Far) -> None:
    answered(world, "placeholder", "answer")
    far.does = [is_down]
    deliver_due(never, way="webhook")
    assert [number for number, _, _ in far.ledger] == [0]
    due_again(world)
    deliver_due(never, way="webhook")
    assert [number for number, _, _ in far.ledger] == [0, 0, 1]


@pytest.mark.parametrize(("turn", "state"), [(refused, "dead"), (cannot_tell, "unconfirmed")])
def test_it_ends_as_what_it_is_with_its_reason(
    world: World, far: Far, turn: Callable[[Mark], Sent], state: str
) -> None:
    run = answered(world, "answer")
    far.does = [turn]
    deliver_due(never, way="webhook")
    due_again(world)
    assert deliver_due(never, way="webhook") == 0
    delivery = Delivery.objects.get(run_id=run.id)
    assert (delivery.state, delivery.last_error[:4]) == (state, "HTTP")
    (row,) = world.audit(f"entry.delivery_{state}")
    assert row == {
        "delivery": delivery.id, "way": "webhook", "kind": "answer", "source": "pager", "agent": "triage",
        "attempts": 1, "why": delivery.last_error,
    }  # fmt: skip


def test_it_is_given_up_after_a_day(world: World, far: Far) -> None:
    answered(world, "answer")
    far.does = [is_down, is_down]
    deliver_due(never, way="webhook")
    assert not world.audit("entry.delivery_dead")
    due_again(world)
    world.sql("UPDATE entry_delivery SET give_up_at = liyagent_now() - interval '1 s'")
    deliver_due(never, way="webhook")
    assert Delivery.objects.get().state == "dead"
    assert world.audit("entry.delivery_dead")[0]["why"] == "no route"


def test_what_is_dead_is_audited_in_that_commit_or_not_dead(world: World, far: Far) -> None:
    answered(world, "answer")
    far.does = [refused]
    world.sql(
        "CREATE FUNCTION full_disk() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'the disk is full'; END $$;"
        "CREATE TRIGGER full_disk BEFORE INSERT ON audit_auditrow FOR EACH ROW EXECUTE FUNCTION full_disk()"
    )
    with pytest.raises(DatabaseError, match="the disk is full"):
        deliver_due(never, way="webhook")
    assert Delivery.objects.get().state == "pending"


def test_an_address_that_is_dead_holds_back_no_other_of_the_run(world: World, far: Far) -> None:
    answered(world, "push", "push", "push", "push")
    for number, config in enumerate(("a", "a", "b", "b")):
        address = f'{{"config": "{config}", "state": "{number}"}}'
        world.sql("UPDATE entry_delivery SET address = %s WHERE number = %s", address, number)
    far.does = [is_down]
    deliver_due(never, way="webhook")
    deliver_due(never, way="webhook")
    # The later of `a` waits for the earlier; those of `b` go, in their order.
    assert [number for number, _, _ in far.ledger] == [0, 2, 3]
    due_again(world)
    deliver_due(never, way="webhook")
    assert [number for number, _, _ in far.ledger] == [0, 2, 3, 0, 1]


def test_who_was_overtaken_sends_nothing_and_settles_nothing(world: World, far: Far) -> None:
    run = answered(world, "answer")

    def overtaken(mark: Mark) -> Sent:
        world.sql("UPDATE entry_delivery SET attempts = attempts + 1")
        with pytest.raises(LostDelivery):
            mark()
        return Sent()

    far.does = [overtaken]
    deliver_due(never, way="webhook")
    assert Delivery.objects.get(run_id=run.id).state == "pending"


def test_nothing_is_handed_on_inside_a_transaction(world: World, far: Far) -> None:
    with pytest.raises(InTransaction), transaction.atomic():
        deliver_due(never, way="webhook")


def test_a_claim_ends_with_its_claimer(
    world: World, far: Far, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A killed process delays an answer by its lease at the most, not by the claim's minute (CR-32)."""
    answered(world, "answer")
    process = world.process()
    monkeypatch.setattr(OWN, "holder", process.holder)
    far.does = [died]
    with pytest.raises(Killed):
        deliver_due(never, way="webhook")
    monkeypatch.setattr(OWN, "holder", world.process("b").holder)
    assert deliver_due(never, way="webhook") == 0
    world.lapse(process)
    assert deliver_due(never, way="webhook") == 1
    assert far.ledger == [(0, "answer 0", True)]


def test_what_a_process_claimed_and_lost_sight_of_is_its_own_again_at_once(
    world: World, far: Far, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A connection that is cut between the claim and the settle delays an answer by no minute (CR-08)."""
    answered(world, "answer")
    monkeypatch.setattr(OWN, "holder", world.process().holder)
    far.does = [cut_off]
    with pytest.raises(DatabaseError):
        deliver_due(never, way="webhook")
    assert deliver_due(never, way="webhook") == 1
    assert far.ledger == [(0, "answer 0", True)]


def test_what_another_thread_of_a_process_has_in_hand_is_not_claimed_again(
    world: World, far: Far, monkeypatch: pytest.MonkeyPatch
) -> None:
    answered(world, "answer")
    monkeypatch.setattr(OWN, "holder", world.process().holder)

    def meanwhile(mark: Mark) -> Sent:
        with ThreadPoolExecutor(1) as pool:
            assert pool.submit(look_and_close).result() == 0
        return told(mark)

    far.does = [meanwhile]
    assert deliver_due(never, way="webhook") == 1
    assert far.ledger == [(0, "answer 0", False)]


def test_one_way_s_deliveries_are_no_other_s(world: World, far: Far) -> None:
    answered(world, "answer")
    assert deliver_due(never, way="teams") == 0
    assert not far.ledger


def test_an_end_that_is_down_is_left_alone_until_the_next_look(world: World, far: Far) -> None:
    answered(world, "answer")
    answered(world, "answer", number=1)
    far.does = [is_down]
    assert deliver_due(never, way="webhook") == 1
    assert deliver_due(never, way="webhook") == 1


def stumbled(_mark: Mark) -> Sent:
    raise KeyError("config")


def stumbled_late(mark: Mark) -> Sent:
    mark()
    raise KeyError("id")


def test_one_that_cannot_be_read_holds_up_no_other_and_is_given_up_with_the_reason(
    world: World, far: Far
) -> None:
    odd = answered(world, "answer")
    answered(world, "answer", number=1)
    far.does = [stumbled]
    assert deliver_due(never, way="webhook") == 2
    assert [it[1] for it in far.ledger] == ["answer 1"]
    delivery = Delivery.objects.get(run_id=odd.id)
    assert (delivery.state, delivery.failures) == ("pending", 1)
    world.sql("UPDATE entry_delivery SET give_up_at = liyagent_now() WHERE state = 'pending'")
    due_again(world)
    far.does = [stumbled]
    assert deliver_due(never, way="webhook") == 1
    delivery.refresh_from_db()
    assert (delivery.state, delivery.last_error) == ("dead", "KeyError: 'config'")


def test_one_that_was_sent_and_whose_answer_cannot_be_read_is_in_doubt(
    world: World, far: Far
) -> None:
    run = answered(world, "answer")
    far.does = [stumbled_late]
    assert deliver_due(never, way="webhook") == 1
    delivery = Delivery.objects.get(run_id=run.id)
    assert (delivery.state, delivery.marked_at is None) == ("pending", False)
    due_again(world)
    deliver_due(never, way="webhook")
    assert far.ledger == [(0, "answer 0", True)]


@pytest.mark.parametrize("address", [{}, {"config": "first"}, {"config": "9" * 30}, []])
def test_an_address_that_was_edited_is_told_and_ends_as_a_dead_letter(
    world: World, address: object
) -> None:
    run = answered(world, "push")
    world.sql(f"UPDATE entry_delivery SET way = 'a2a', address = '{json.dumps(address)}'")
    assert deliver_due(never, way="a2a") == 1
    assert Delivery.objects.get(run_id=run.id).state == "dead"
    api = api_of(make_user("vera", "runs.view_run"))
    shown = api.get(f"/api/deliveries?run={run.id}")
    assert (shown.status, shown.data["deliveries"][0]["state"]) == (200, "dead")
    assert receiver_of(Delivery.objects.get(run_id=run.id))
