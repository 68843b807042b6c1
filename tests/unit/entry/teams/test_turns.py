"""A message is kept before it is answered, is one run, and its reply appears once."""

from __future__ import annotations

import pytest

from liyagent.entry.models import Arrival
from liyagent.entry.teams.words import PLACEHOLDER
from runs.models import Run
from tests.unit.entry.teams.conftest import Teams
from tests.unit.runs.carrying.conftest import says


@pytest.mark.promise("CR-04")
def test_a_turn_ends_as_one_message_that_held_the_place_before(teams: Teams) -> None:
    arrival = teams.say("disk full on db-1", says("grown by 20 GB"))
    assert arrival.state == "started"
    run = Run.objects.get(id=arrival.run_id)
    assert (run.entry, run.started_by) == ("teams", "olga")
    assert teams.states(arrival) == {"placeholder": "pending", "answer": "waiting"}
    assert teams.deliver() == 1
    (shown,) = teams.shown()
    assert shown.text == PLACEHOLDER
    teams.world.process().carry()
    assert teams.deliver() == 1
    (shown,) = teams.shown()
    assert shown.text == "grown by 20 GB"
    assert teams.states(arrival) == {"placeholder": "delivered", "answer": "delivered"}


@pytest.mark.field("FL-72")
def test_the_same_activity_again_is_the_same_turn(teams: Teams) -> None:
    teams.world.model.steps = [says("done")]
    activity = teams.channel.message("look")
    first = teams.post(activity)
    again = teams.post({**activity, "text": "something else", "timestamp": "later"})
    assert (first.status_code, again.status_code) == (200, 200)
    assert first.json() == again.json()
    assert Arrival.objects.count() == 1
    assert Run.objects.count() == 1
