"""What is handed on, worked off in the background, or begun by another way, stays of its mission (MI-05, MI-06)."""

from __future__ import annotations

import pytest

from liyagent.agents.models import Agent
from liyagent.audit.models import AuditRow
from liyagent.entry.deliver import deliver_due
from liyagent.entry.models import Arrival
from liyagent.jobs.ask import ask_for
from liyagent.jobs.end import cancel_job
from liyagent.jobs.models import Job
from liyagent.jobs.sources.sync import ask_sync
from missions.carry import META_KEY
from missions.context import Stamp, stamped
from missions.models import Mission
from runs.models import Run
from tests.fakes.webhook_receiver import Receiver
from tests.flows import conftest as flows
from tests.flows.conftest import Api
from tests.flows.test_cron import GIVEN, ONE
from tests.unit.approvals import conftest as approvals
from tests.unit.approvals import test_notices
from tests.unit.approvals.telling import deliver
from tests.unit.entry.a2a import conftest as a2a
from tests.unit.entry.a2a import test_push
from tests.unit.entry.a2a.conftest import Rpc, message
from tests.unit.entry.a2a.test_push import FULL
from tests.unit.jobs import conftest as jobs
from tests.unit.jobs import test_elsewhere
from tests.unit.jobs.conftest import Shop
from tests.unit.jobs.test_elsewhere import Wiki
from tests.unit.runs.carrying import conftest as carrying
from tests.unit.runs.carrying.conftest import World, calls, never, says

world, held = carrying.world, approvals.held
receiver, told = test_notices.receiver, test_notices.told
rpc, pushed_to = a2a.rpc, test_push.receiver
shop, wiki = jobs.shop, test_elsewhere.wiki
operator, agent = flows.operator, flows.agent
OF_ANN = Stamp(request_id="req-1", mission="INC-1")
UNNAMED = Stamp(request_id="req-2", mission="")


@pytest.mark.promise("MI-06")
def test_a_notice_of_a_request_bears_the_mission_of_its_run(held: World, told: Receiver) -> None:
    held.start(calls(("v/keyed", {})), says("done"), mission="INC-1")
    held.process().carry()
    assert deliver() == 1
    assert told.received[0].headers["x-liyagent-mission"] == "INC-1"


@pytest.mark.promise("MI-01", "MI-06")
def test_a_push_and_the_rows_of_what_it_is_owed_for_bear_the_mission_of_the_message(
    world: World, rpc: Rpc, pushed_to: Receiver
) -> None:
    world.model.steps = [says("done")]
    wanted = {"taskPushNotificationConfig": {**FULL, "url": pushed_to.url}}
    params = {
        "message": message(),
        "configuration": {**wanted, "returnImmediately": True},
        "_meta": {META_KEY: "INC-1"},
    }
    task = rpc.call("SendMessage", params)["task"]
    world.process().carry()
    pushed_to.status = 410
    deliver_due(never, way="a2a")
    (push,) = pushed_to.received
    assert push.headers["x-liyagent-mission"] == "INC-1"
    dead = AuditRow.objects.get(action="entry.delivery_dead")
    assert (dead.mission, str(dead.run_id)) == ("INC-1", task["id"])
    assert {it.mission for it in AuditRow.objects.filter(run_id=task["id"])} == {"INC-1"}


@pytest.mark.promise("MI-01")
def test_the_baggage_of_a_call_goes_before_what_its_message_names(world: World, rpc: Rpc) -> None:
    params = {"message": message(metadata={META_KEY: "M-1"}), "_meta": {META_KEY: "M-2"}}
    rpc.call("SendMessage", params, baggage="x=1, liyagent.mission=INC%2D77;ttl=5")
    assert Run.objects.get().mission == "INC-77"


@pytest.mark.promise("MI-05", "MI-06")
def test_a_job_reads_a_servers_resources_with_the_mission_it_was_asked_for_in(
    shop: Shop, wiki: Wiki
) -> None:
    with stamped(OF_ANN):
        asked = ask_sync("wiki", asked_by="ann")
    shop.hand().work()
    reads = [it["params"] for it in wiki.received if it["method"] == "resources/read"]
    assert [it["_meta"][META_KEY] for it in reads] == ["INC-1", "INC-1"]
    job = Job.objects.get(id=asked.job.id)
    assert (job.status, job.mission, job.request_id) == ("done", "INC-1", "req-1")
    rows = AuditRow.objects.filter(action__startswith="job.")
    assert [(it.action, it.mission, it.request_id) for it in rows.order_by("id")] == [
        ("job.asked", "INC-1", "req-1"),
        ("job.ended", "INC-1", "req-1"),
    ]
    assert Mission.objects.get().id == "INC-1"


@pytest.mark.promise("MI-02")
def test_a_job_without_a_name_is_of_the_request_that_asked_for_it_or_its_own(shop: Shop) -> None:
    with stamped(UNNAMED):
        first = ask_for("counting", "one", asked_by="ann").job
    second = ask_for("counting", "two", asked_by="schedule").job
    shop.hand().work()
    missions = {it.detail["job"]: it.mission for it in AuditRow.objects.filter(action="job.ended")}
    assert missions == {str(first.id): "req-2", str(second.id): str(second.id)}
    with stamped(OF_ANN):
        third = ask_for("counting", "three", asked_by="ann").job
    with stamped(UNNAMED):
        cancel_job(third.id, actor="kim")
    assert AuditRow.objects.filter(action="job.ended").order_by("id").last().mission == "INC-1"  # type: ignore[union-attr]
    assert [it.id for it in Mission.objects.all()] == ["INC-1"]


@pytest.mark.promise("MI-01")
def test_a_trigger_that_is_run_by_hand_is_of_the_mission_of_who_runs_it(
    operator: Api, agent: Agent
) -> None:
    operator.send("PUT", ONE, GIVEN)
    assert operator.post(f"{ONE}/run", {}, x_liyagent_mission="INC-1").status == 202
    assert (Arrival.objects.get().mission, Run.objects.get().mission) == ("INC-1", "INC-1")
