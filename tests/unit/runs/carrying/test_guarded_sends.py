"""What is asked right before the bytes of a write leave (ruling 6)."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from runs import scope
from runs.attempt import Carrier
from runs.checkpoint import load
from runs.errors import LostLease
from runs.loop import carry_run
from runs.models import Run
from tests.unit.runs.carrying.conftest import Process, World, calls, never, says


def taken(world: World) -> tuple[Run, Process, int]:
    """A run with one blind write that a process has taken and not begun to carry."""
    run = world.start(calls(("v/blind", {"n": 1})), says("done"))
    process = world.process()
    ((_, attempt),) = process.take()
    return run, process, attempt


@pytest.mark.promise("CR-26")
def test_nothing_is_sent_once_the_mark_s_deadline_has_passed(world: World) -> None:
    run, process, attempt = taken(world)
    world.sql("UPDATE leases_holder SET renew_by = liyagent_now() - interval '1 s'")
    process.go_on(run.id, attempt)
    assert world.vendor.received == []
    assert "not sent" in world.model.results()[0]
    assert world.call(run, 1).fate == "failed"


@pytest.mark.promise("CR-26")
@pytest.mark.field("FL-19")
def test_a_write_waits_for_a_renewal_that_is_late_as_after_an_outage(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The lease lapsed while the database was away, and nobody claimed: the write is made, not told as failed."""
    run, process, attempt = taken(world)
    world.sql("UPDATE leases_holder SET renew_by = liyagent_now() - interval '1 s'")
    renew = "UPDATE leases_holder SET renew_by = liyagent_now() + interval '30 s'"
    monkeypatch.setattr(scope, "time", SimpleNamespace(sleep=lambda _seconds: world.sql(renew)))
    process.go_on(run.id, attempt)
    assert world.vendor.received == ["blind"]
    assert world.call(run, 1).fate == "done"


CHANGES = {
    "contained": "UPDATE agents_agent SET is_contained = true",
    "switched off": "UPDATE agents_agent SET is_enabled = false",
    "no longer permitted": "UPDATE gateway_policy SET text = 'forbid (principal, action, resource);'",
}


@pytest.mark.promise("CR-17")
@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_what_forbids_a_write_between_its_verdict_and_its_mark_keeps_it_from_leaving(
    world: World, change: str
) -> None:
    """The mark's statement tells the configuration version: what it may have changed is asked before the bytes."""
    run, process, attempt = taken(world)
    world.sql(
        "CREATE FUNCTION change() RETURNS trigger LANGUAGE plpgsql AS"
        f" $$ BEGIN {change}; RETURN NULL; END $$"
    )
    world.sql(
        "CREATE TRIGGER change BEFORE INSERT ON runs_call FOR EACH STATEMENT EXECUTE FUNCTION change()"
    )
    process.go_on(run.id, attempt)
    assert world.vendor.received == []
    assert world.call(run, 1).fate == "refused"


@pytest.mark.promise("CR-12")
def test_nothing_is_sent_once_the_attempt_is_known_to_be_lost(world: World) -> None:
    run, _process, attempt = taken(world)
    world.sql(
        "CREATE FUNCTION lose() RETURNS trigger LANGUAGE plpgsql AS"
        " $$ BEGIN UPDATE runs_run SET status = 'queued', holder = NULL WHERE id = NEW.run_id; RETURN NULL; END $$"
    )
    # The run is claimed in the instant after the mark, and the process is told before it sends.
    world.sql("CREATE TRIGGER lose AFTER INSERT ON runs_call FOR EACH ROW EXECUTE FUNCTION lose()")
    carrier = Carrier(
        holder="a",
        give_up=lambda: (
            world.sql("SELECT status FROM runs_run WHERE id = %s", run.id) == [("queued",)]
        ),
        hand_over=never,
    )
    with pytest.raises(LostLease):
        carry_run(load(run.id, attempt=attempt, give_up=never), carrier)
    assert world.vendor.received == []
