"""What is asked right before the bytes of a write leave (ruling 6)."""

from __future__ import annotations

import pytest

from runs.errors import LostLease
from runs.models import Run
from tests.unit.runs.carrying.conftest import Process, World, calls, says


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


@pytest.mark.promise("CR-12")
def test_nothing_is_sent_once_the_attempt_is_known_to_be_lost(world: World) -> None:
    run, process, attempt = taken(world)
    world.sql(
        "CREATE FUNCTION lose() RETURNS trigger LANGUAGE plpgsql AS"
        " $$ BEGIN UPDATE runs_run SET status = 'queued', holder = NULL WHERE id = NEW.run_id; RETURN NULL; END $$"
    )
    # The run is claimed in the instant after the mark, and the process is told before it sends.
    world.sql("CREATE TRIGGER lose AFTER INSERT ON runs_call FOR EACH ROW EXECUTE FUNCTION lose()")
    process.gives_up = True
    with pytest.raises(LostLease):
        process.go_on(run.id, attempt)
    assert world.vendor.received == []
