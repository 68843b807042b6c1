"""What happens to a request is told: written in its commit, sent at least once with one id, given up after a day."""

from __future__ import annotations

import dataclasses
import threading
from collections.abc import Iterator
from datetime import timedelta

import pytest
from django.conf import settings
from django.db import transaction

from liyagent.approvals import deliver as delivering
from liyagent.approvals.decide import expire_due, withdraw
from liyagent.approvals.models import Approval, Notice
from liyagent.approvals.notice import body_of, remind_due
from liyagent.approvals.outbox import forget_old, list_notices, send_again
from liyagent.core.errors import BadInput
from liyagent.core.outbox import ANSWER_SECONDS, LEASE_SECONDS, SENT_WITHIN_SECONDS, pause_after
from liyagent.core.transactions import InTransaction
from liyagent.leases.own import OWN
from runs.stop import stop_run
from tests.fakes.webhook_receiver import Received, Receiver
from tests.unit.approvals.deciding import approve, reject, the_request
from tests.unit.approvals.telling import deliver, notices, tell
from tests.unit.runs.carrying.conftest import World, calls, says

OLD_REQUEST = "UPDATE approvals_approval SET {column} = liyagent_now() - interval '1 s'"
DUE_NOW = "UPDATE approvals_notice SET next_at = liyagent_now() WHERE state = 'pending'"
LEASE_OVER = "UPDATE approvals_notice SET claimed_until = liyagent_now() - interval '1 s'"
A_DAY_OLD = "UPDATE approvals_notice SET give_up_at = liyagent_now() - interval '1 s'"


@pytest.fixture
def receiver(monkeypatch: pytest.MonkeyPatch) -> Iterator[Receiver]:
    with Receiver() as receiver:
        yield receiver


@pytest.fixture
def told(held: World, receiver: Receiver, monkeypatch: pytest.MonkeyPatch) -> Receiver:
    """A channel that is told of the world's requests."""
    tell(receiver, monkeypatch)
    return receiver


def ask(held: World) -> Approval:
    """Let a run ask for a write; its request waits."""
    known = set(Approval.objects.values_list("id", flat=True))
    held.start(calls(("v/keyed", {"secret": "words"})), says("done"))
    held.process().carry()
    return Approval.objects.exclude(id__in=known).get()


def test_a_request_that_is_filed_and_decided_is_told_in_that_order(
    held: World, told: Receiver
) -> None:
    approve(ask(held))
    assert notices() == [("filed", "pending"), ("decided", "pending")]
    assert deliver() == 2
    assert told.types() == ["approval.filed", "approval.decided"]
    assert [it.told["data"]["status"] for it in told.received] == ["pending", "approved"]
    assert [it.told["data"]["decided_by"] for it in told.received] == [None, "olga"]
    assert notices() == [("filed", "delivered"), ("decided", "delivered")]
    assert deliver() == 0
    held.process("second").carry()
    assert the_request().status == "consumed"
    assert Notice.objects.count() == 2


def test_the_body_has_facts_and_a_link_and_nothing_of_what_is_asked_for(
    held: World, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    tell(receiver, monkeypatch, public_url="https://liyagent.example.com")
    approval = ask(held)
    reject(approval, reason="private words")
    deliver()
    facts = receiver.received[1].told["data"]
    assert facts == {
        "approval_id": str(approval.id),
        "kind": "call",
        "status": "rejected",
        "decided_by": "olga",
        "agent": "triage",
        "server": "v",
        "tool": "keyed",
        "gate": "write_posture",
        "mission": approval.mission,
        "run_id": str(approval.run_id),
        "replaces": None,
        "created_at": f"{approval.created_at:%Y-%m-%dT%H:%M:%S.%f}Z",
        "expires_at": f"{approval.expires_at:%Y-%m-%dT%H:%M:%S.%f}Z",
        "url": f"https://liyagent.example.com/admin/approvals/approval/{approval.id}/change/",
    }
    assert all(b"words" not in it.body for it in receiver.received)


def test_expiry_withdrawal_and_the_end_of_a_run_are_told(held: World, told: Receiver) -> None:
    withdrawn = ask(held)
    withdraw(approval_id=withdrawn.id, actor="olga", reason="no more", may_decide=True)
    held.process("second").carry()
    run = ask(held).run_id
    stop_run(run_id=run, actor="op", reason="enough")
    held.process("third").carry()
    ask(held)
    held.sql(OLD_REQUEST.format(column="expires_at") + " WHERE status = 'pending'")
    expire_due()
    deliver()
    kinds = ["filed", "withdrawn", "filed", "withdrawn", "filed", "expired"]
    assert told.types() == [f"approval.{it}" for it in kinds]


def test_what_goes_stale_is_told_and_the_new_request_names_it(held: World, told: Receiver) -> None:
    approval = ask(held)
    approve(approval)
    held.sql("UPDATE gateway_policy SET version = 2, text = text || ' // edited'")
    held.sql("UPDATE agents_configversion SET version = version + 1")
    held.process("second").carry()
    deliver()
    assert told.types() == [f"approval.{it}" for it in ("filed", "decided", "stale", "filed")]
    assert told.received[-1].told["data"]["replaces"] == str(approval.id)


def test_what_is_rolled_back_is_not_told(held: World, told: Receiver) -> None:
    approval = ask(held)
    with transaction.atomic():
        Approval.objects.filter(id=approval.id).update(status="withdrawn")
        assert Notice.objects.count() == 2
        transaction.set_rollback(True)
    assert notices() == [("filed", "pending")]


def test_a_request_that_waits_is_told_of_once_more(held: World, told: Receiver) -> None:
    ask(held)
    assert remind_due() == 0
    held.sql(OLD_REQUEST.format(column="remind_at"))
    assert remind_due() == 1
    assert remind_due() == 0
    deliver()
    assert told.types() == ["approval.filed", "approval.reminder"]


@pytest.mark.parametrize("change", ["status = 'rejected'", "expires_at = liyagent_now()"])
def test_nobody_is_reminded_of_what_waits_no_more(held: World, change: str) -> None:
    ask(held)
    held.sql(f"{OLD_REQUEST.format(column='remind_at')}, {change}")
    assert remind_due() == 0
    assert not Notice.objects.filter(kind="reminder").exists()


def test_nobody_is_reminded_where_the_hours_are_none(
    held: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    conf = dataclasses.replace(settings.LIYAGENT, approval_reminder_seconds=0)
    monkeypatch.setattr(settings, "LIYAGENT", conf)
    assert ask(held).remind_at is None


def test_without_an_address_nothing_is_sent_and_nothing_is_lost(
    held: World, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    ask(held)
    assert deliver() == 0
    tell(receiver, monkeypatch)
    assert deliver() == 1
    assert receiver.types() == ["approval.filed"]


@pytest.mark.parametrize("status", [199 + 101, 400, 404, 410, 429, 500, 503])
def test_any_other_answer_than_2xx_is_tried_again_with_the_same_id_and_the_same_words(
    held: World, told: Receiver, status: int
) -> None:
    ask(held)
    told.status = status
    assert deliver() == 1
    notice = Notice.objects.get()
    assert (notice.state, notice.failures, notice.claimed_until) == ("pending", 1, None)
    assert notice.last_error.startswith(f"HTTP {status}")
    assert deliver() == 0
    held.sql(DUE_NOW)
    told.status = 202
    assert deliver() == 1
    assert len(set(told.ids())) == 1
    assert told.received[0].body == told.received[1].body
    assert Notice.objects.get().state == "delivered"
    assert Notice.objects.get().last_error == ""


def test_a_receiver_that_is_gone_is_told_of_and_stays_in_use(
    held: World, told: Receiver, caplog: pytest.LogCaptureFixture
) -> None:
    ask(held)
    told.status = 410
    deliver()
    assert "gone for good" in Notice.objects.get().last_error
    (logged,) = {it.levelname for it in caplog.records if it.message.endswith("if that is so")} - {
        "WARNING"
    }
    assert logged == "ERROR"
    told.status = 204
    approve(the_request())
    held.sql(DUE_NOW)
    assert deliver() == 2


def test_a_redirect_is_not_followed(held: World, told: Receiver) -> None:
    ask(held)
    told.status, told.headers = 307, {"location": told.url}
    deliver()
    assert len(told.received) == 1
    assert Notice.objects.get().last_error == "HTTP 307"


def test_the_pauses_grow_to_an_hour_and_differ(held: World, told: Receiver) -> None:
    pauses = [[pause_after(failures) for _ in range(20)] for failures in range(30)]
    for failures, drawn in enumerate(pauses):
        most = min(5 * 2**failures, 3600)
        assert all(most / 2 <= it <= most for it in drawn)
        assert len(set(drawn)) > 1


def test_a_pause_that_the_receiver_wants_is_kept_up_to_an_hour(held: World, told: Receiver) -> None:
    ask(held)
    told.status = 503
    for wanted, least, most in (("1200", 1200, 1201), ("999999", 3600, 3601), ("soon", 2, 10)):
        told.headers = {"retry-after": wanted}
        held.sql("UPDATE approvals_notice SET failures = 0, next_at = liyagent_now()")
        before = held.sql("SELECT liyagent_now()")[0][0]
        deliver()
        pause = Notice.objects.get().next_at - before
        assert timedelta(seconds=least) <= pause <= timedelta(seconds=most), wanted


def test_a_notice_is_given_up_after_a_day_with_the_reason_and_lets_the_next_pass(
    held: World, told: Receiver
) -> None:
    reject(ask(held))
    first, second = Notice.objects.order_by("id")
    assert first.give_up_at - first.created_at == timedelta(days=1)
    told.status = 400
    held.sql(f"{A_DAY_OLD} WHERE kind = 'filed'")
    deliver(limit=1)
    first.refresh_from_db()
    assert (first.state, first.last_error, first.attempts) == ("dead", "HTTP 400", 1)
    assert first.settled_at is not None
    told.status = 200
    assert deliver() == 1
    assert told.ids()[-1] == str(second.webhook_id)


def test_the_last_try_is_at_the_end_of_the_day(held: World, told: Receiver) -> None:
    ask(held)
    told.status = 400
    held.sql(
        "UPDATE approvals_notice SET failures = 12, give_up_at = liyagent_now() + interval '9 minutes'"
    )
    deliver()
    notice = Notice.objects.get()
    assert (notice.state, notice.next_at) == ("pending", notice.give_up_at)


def test_the_later_waits_for_the_earlier_of_its_request_but_for_no_other(
    held: World, told: Receiver
) -> None:
    reject(ask(held))
    held.process("second").carry()
    told.status = 400
    assert deliver(limit=1) == 1
    told.status = 200
    assert deliver() == 0
    ask(held)
    assert deliver() == 1
    held.sql(DUE_NOW)
    assert deliver() == 2
    assert told.types()[1:] == ["approval.filed", "approval.filed", "approval.decided"]


def test_an_earlier_one_holds_a_later_one_up_for_an_hour_at_most(
    held: World, told: Receiver
) -> None:
    reject(ask(held))
    told.status = 400
    deliver(limit=1)
    told.status = 200
    held.sql("UPDATE approvals_notice SET created_at = created_at - interval '61 minutes'")
    assert deliver() == 1
    assert told.types()[-1] == "approval.decided"


def test_a_receiver_that_is_down_is_tried_once_a_look(held: World, told: Receiver) -> None:
    for _ in range(3):
        reject(ask(held))
        held.process("again").carry()
    told.status = 502
    assert deliver() == 1
    assert len(told.received) == 1


def test_an_address_inside_that_is_not_allowed_is_never_called(
    held: World, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    tell(receiver, monkeypatch, allowed_private_hosts=())
    ask(held)
    deliver()
    assert receiver.received == []
    assert Notice.objects.get().last_error.startswith("ForbiddenAddress")


def test_nothing_is_sent_inside_a_transaction(held: World, told: Receiver) -> None:
    ask(held)
    with pytest.raises(InTransaction), transaction.atomic():
        deliver()
    assert told.received == []


def test_a_receiver_that_does_not_answer_in_time_is_tried_again(
    held: World, told: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    ask(held)
    released = threading.Event()

    def wait(_request: Received) -> None:
        released.wait(5)

    told.on_request = wait
    monkeypatch.setattr(delivering, "ANSWER_SECONDS", 0.3)
    deliver()
    released.set()
    assert Notice.objects.get().last_error.startswith(("TooSlow", "ReadTimeout"))


def test_what_has_not_left_in_half_a_lease_does_not_leave(
    held: World, told: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    ask(held)
    monkeypatch.setattr(delivering, "SENT_WITHIN_SECONDS", -1.0)
    deliver()
    assert told.received == []
    assert Notice.objects.get().last_error.startswith("TooSlow")
    longest = 2 * ANSWER_SECONDS + SENT_WITHIN_SECONDS
    assert longest < LEASE_SECONDS


def test_of_two_deliverers_one_sends(held: World, told: Receiver) -> None:
    """The second looks while the first one's request is at the receiver."""
    ask(held)
    seconds: list[int] = []

    def look_too(_request: Received) -> None:
        thread = threading.Thread(target=lambda: seconds.append(deliver()))
        thread.start()
        thread.join(5)

    told.on_request = look_too
    assert deliver() == 1
    assert seconds == [0]
    assert len(told.received) == 1


def test_many_deliverers_at_once_send_each_notice_once(held: World, told: Receiver) -> None:
    approval = ask(held)
    held.sql(
        "INSERT INTO approvals_approval SELECT (jsonb_populate_record(a, jsonb_build_object("
        "'id', gen_random_uuid(), 'index', n))).* FROM approvals_approval a, generate_series(1, 30) AS n"
    )
    begin = threading.Barrier(4)

    def look() -> None:
        begin.wait(5)
        deliver()

    threads = [threading.Thread(target=look) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)
    assert len(told.received) == len(set(told.ids())) == 31
    assert str(approval.id) in {it.told["data"]["approval_id"] for it in told.received}


def test_what_a_dead_process_claimed_is_due_again_once_its_lease_is_over(
    held: World, told: Receiver
) -> None:
    ask(held)
    claimed = delivering._claimed()
    assert claimed is not None
    assert deliver() == 0
    held.sql(LEASE_OVER)
    assert deliver() == 1
    assert Notice.objects.get().attempts == 2


def test_what_a_process_claimed_that_is_known_to_be_gone_is_due_again_at_once(
    held: World, told: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A killed process delays a notice by its own lease at the most, not by the claim's minute."""
    ask(held)
    first, second = held.process("first"), held.process("second")
    monkeypatch.setattr(OWN, "holder", first.holder)
    assert delivering._claimed() is not None
    monkeypatch.setattr(OWN, "holder", second.holder)
    assert deliver() == 0
    held.lapse(first)
    assert deliver() == 1
    assert Notice.objects.get().attempts == 2


def test_a_deliverer_that_was_overtaken_marks_nothing(held: World, told: Receiver) -> None:
    ask(held)
    overtaken = delivering._claimed()
    assert overtaken is not None
    held.sql(LEASE_OVER)
    assert delivering._claimed() is not None
    delivering._mark(overtaken, delivering.Answer(error="late"))
    delivering._mark(overtaken, delivering.Answer())
    notice = Notice.objects.get()
    assert (notice.state, notice.failures, notice.last_error) == ("pending", 0, "")


def test_one_that_was_given_up_can_be_sent_again_with_its_id(held: World, told: Receiver) -> None:
    ask(held)
    held.sql(A_DAY_OLD)
    told.status = 500
    deliver()
    told.status = 200
    (dead,) = list_notices(state="dead")
    send_again(notice_id=dead.id, actor="cli:op")
    assert deliver() == 1
    assert len(set(told.ids())) == 1
    assert held.audit("agent.approval.told_again")[0]["notice"] == dead.id
    assert [it.state for it in list_notices()] == ["delivered"]


def test_one_that_is_being_sent_is_not_sent_beside_it(held: World, told: Receiver) -> None:
    ask(held)
    claimed = delivering._claimed()
    assert claimed is not None
    send_again(notice_id=claimed.id, actor="cli:op")
    assert deliver() == 0


def test_old_ones_are_forgotten_a_bounded_number_at_a_time(held: World, told: Receiver) -> None:
    ask(held)
    held.sql(
        "INSERT INTO approvals_notice (webhook_id, approval_id, kind, status, decided_by, state, created_at, next_at,"
        " give_up_at, attempts, failures, last_error, settled_at) SELECT gen_random_uuid(), approval_id, kind, status, '',"
        " it.state, created_at, next_at, give_up_at, 0, 0, '', liyagent_now() - make_interval(days => it.days)"
        " FROM approvals_notice, generate_series(1, 10), (VALUES ('delivered', 6), ('delivered', 8), ('dead', 8),"
        " ('dead', 31)) AS it(state, days)"
    )
    assert forget_old(limit=6) == 12
    assert forget_old(limit=6) == 8
    assert forget_old(limit=6) == 0
    left = Notice.objects.values_list("state", flat=True)
    assert sorted(left) == ["dead"] * 10 + ["delivered"] * 10 + ["pending"]


def test_what_nobody_is_told_of_is_forgotten_after_a_day_only_where_no_address_is_set(
    held: World, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    ask(held)
    assert forget_old() == 0
    held.sql("UPDATE approvals_notice SET next_at = next_at - interval '25 hours'")
    with monkeypatch.context() as patch:
        tell(receiver, patch)
        assert forget_old() == 0
    assert forget_old() == 1


@pytest.mark.parametrize("asked", [{"state": "lost"}, {"limit": 0}, {"limit": 201}])
def test_a_list_that_cannot_be_is_refused(held: World, asked: dict[str, str]) -> None:
    with pytest.raises(BadInput):
        list_notices(**asked)  # type: ignore[arg-type] # as they come from a shell


def test_a_notice_has_the_words_of_its_time_however_late_it_is_sent(
    held: World, told: Receiver
) -> None:
    ask(held)
    before = body_of(Notice.objects.get())
    approve(the_request())
    assert body_of(Notice.objects.get(kind="filed")) == before
    ids = Notice.objects.values_list("webhook_id", flat=True)
    assert len(set(ids)) == 2
