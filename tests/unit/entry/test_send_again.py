"""A person sends again what was given up, or closes it with a reason; of two who do, one does."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest
from django.db import connection

from liyagent.core.errors import BadInput, LiyagentError
from liyagent.entry.close import close_delivery
from liyagent.entry.deliver import deliver_due
from liyagent.entry.errors import DeliveryIsNot, DeliveryNotFound, MayAppearTwice
from liyagent.entry.models import Delivery
from liyagent.entry.send_again import send_again
from tests.unit.entry.test_deliveries import Far, answered, cannot_tell, far, refused
from tests.unit.runs.carrying.conftest import World, never

__all__ = ["far"]


def given_up(world: World, far: Far, *, unconfirmed: bool = False) -> Delivery:
    answered(world, "answer")
    far.does = [cannot_tell if unconfirmed else refused]
    deliver_due(never, way="webhook")
    return Delivery.objects.get()


def test_a_dead_one_is_due_again_with_a_day_to_be_told_in(world: World, far: Far) -> None:
    dead = given_up(world, far)
    world.sql("UPDATE entry_delivery SET give_up_at = liyagent_now() - interval '2 days'")
    due = send_again(delivery_id=dead.id, actor="olga")
    assert (due.state, due.failures, due.settled_at) == ("pending", 0, None)
    assert 86_300 < (due.give_up_at - due.next_at).total_seconds() <= 86_400
    assert deliver_due(never, way="webhook") == 1
    assert Delivery.objects.get().state == "delivered"
    assert [words for _, words, _ in far.ledger] == ["answer 0", "answer 0"]
    (told,) = world.audit("entry.delivery_sent_again")
    assert (told["delivery"], told["was"], told["why"][:8]) == (dead.id, "dead", "HTTP 404")
    assert (told["source"], told["agent"]) == ("pager", "triage")


def test_an_unconfirmed_one_goes_again_only_where_it_may_appear_twice(
    world: World, far: Far
) -> None:
    one = given_up(world, far, unconfirmed=True)
    with pytest.raises(MayAppearTwice, match="nobody can tell"):
        send_again(delivery_id=one.id, actor="olga")
    assert Delivery.objects.get().state == "unconfirmed"
    send_again(delivery_id=one.id, actor="olga", may_appear_twice=True)
    assert deliver_due(never, way="webhook") == 1
    # It goes as a first: whoever sends what is keyless would end it as unconfirmed again.
    assert [is_in_doubt for _, _, is_in_doubt in far.ledger] == [False, False]
    assert world.audit("entry.delivery_sent_again")[0]["may_appear_twice"] is True


@pytest.mark.parametrize(
    ("state", "words"),
    [("waiting", "end of its run"), ("pending", "due already"), ("delivered", "handed on already")],
)
def test_one_that_is_not_given_up_is_left_as_it_is(
    world: World, far: Far, state: str, words: str
) -> None:
    one = given_up(world, far)
    world.sql("UPDATE entry_delivery SET state = %s", state)
    verbs: list[Callable[[], object]] = [
        lambda: send_again(delivery_id=one.id, actor="olga", may_appear_twice=True),
        lambda: close_delivery(delivery_id=one.id, actor="olga", reason="old"),
    ]
    for verb in verbs:
        with pytest.raises(DeliveryIsNot, match=words):
            verb()
    assert Delivery.objects.get().state == state
    assert not world.audit("entry.delivery_sent_again") + world.audit("entry.delivery_closed")


def test_of_two_at_once_one_sends_it_again(world: World, far: Far) -> None:
    one = given_up(world, far)

    def ask(number: int) -> str:
        try:
            if number % 2:
                close_delivery(delivery_id=one.id, actor=f"p{number}", reason="not wanted")
            else:
                send_again(delivery_id=one.id, actor=f"p{number}")
        except LiyagentError as error:
            return error.code
        else:
            return "done"
        finally:
            connection.close()

    with ThreadPoolExecutor(8) as pool:
        came = list(pool.map(ask, range(8)))
    assert sorted(came) == ["delivery.state"] * 7 + ["done"]
    assert len(world.audit("entry.delivery_sent_again") + world.audit("entry.delivery_closed")) == 1


@pytest.mark.parametrize("unconfirmed", [False, True])
def test_a_closed_one_is_never_sent_again_and_says_why(
    world: World, far: Far, unconfirmed: bool
) -> None:
    one = given_up(world, far, unconfirmed=unconfirmed)
    closed = close_delivery(delivery_id=one.id, actor="olga", reason="told by\n phone")
    assert (closed.state, closed.closed_by, closed.closed_why) == (
        "closed",
        "olga",
        "told by phone",
    )
    assert closed.last_error == one.last_error
    with pytest.raises(DeliveryIsNot, match="closed by olga: told by phone"):
        send_again(delivery_id=one.id, actor="pia", may_appear_twice=True)
    with pytest.raises(DeliveryIsNot, match="closed by olga"):
        close_delivery(delivery_id=one.id, actor="pia", reason="again")
    assert deliver_due(never, way="webhook") == 0
    (told,) = world.audit("entry.delivery_closed")
    assert (told["why"], told["was"]) == ("told by phone", one.state)


@pytest.mark.parametrize("reason", ["", " \n ", "x" * 501])
def test_closing_wants_a_reason(world: World, far: Far, reason: str) -> None:
    one = given_up(world, far)
    with pytest.raises(BadInput, match="1 to 500"):
        close_delivery(delivery_id=one.id, actor="olga", reason=reason)
    assert Delivery.objects.get().state == "dead"


def test_one_that_is_not_there_is_none(world: World) -> None:
    with pytest.raises(DeliveryNotFound):
        send_again(delivery_id=7, actor="olga")
    with pytest.raises(DeliveryNotFound):
        close_delivery(delivery_id=7, actor="olga", reason="old")
