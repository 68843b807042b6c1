"""An agent with `require_replay` changes its model only as a replay tried it: exactly that, over exactly its version."""

from __future__ import annotations

from typing import Any

import pytest

from liyagent.agents import replayed
from liyagent.agents.definitions import definition_of, save_agent, save_compensations
from liyagent.agents.errors import ReplayWanted
from liyagent.agents.models import Agent
from liyagent.replays.models import CohortReplay
from liyagent.replays.verdict import digest_of
from runs.models import Run
from tests.fakes.model_server import Turn
from tests.unit.replays.cohorts import Cohorts, cohorts
from tests.unit.replays.conftest import replays, world

__all__ = ["cohorts", "replays", "world"]


def save(**changes: Any) -> Agent:
    agent = Agent.objects.get(key="triage")
    return save_agent({**definition_of(agent), **changes}, actor="t")


def refused(**changes: Any) -> str:
    version = Agent.objects.get(key="triage").version
    with pytest.raises(ReplayWanted) as told:
        save(**changes)
    assert Agent.objects.get(key="triage").version == version
    return str(told.value)


@pytest.fixture
def demanding(cohorts: Cohorts) -> Cohorts:
    """The agent wants a replay; it has three recorded runs."""
    save(require_replay=True)
    cohorts.record(3)
    return cohorts


@pytest.mark.promise("RP-05")
def test_a_change_that_was_not_tried_is_refused_and_told_what_to_run(demanding: Cohorts) -> None:
    for change in ({"model": "cheaper"}, {"provider": "scripted"}, {"instructions": "Be brief."}, {"base_url": "http://127.0.0.1:1/v1"}, {"api_key_env": "SOME_KEY"}):  # fmt: skip
        (name,) = change
        said = refused(**change)
        assert f"agent triage changes its {name} only as a cohort replay tried it" in said
        assert f"manage.py cohort_replay triage --{name.replace('_', '-')} …" in said


def test_where_nothing_judges_nobody_gives_leave(
    demanding: Cohorts, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(replayed, "JUDGES", [])
    assert "nothing in this process judges that" in refused(model="cheaper")
    assert save(max_steps=3).version == 3


def test_any_other_change_is_nothing_of_the_kind(demanding: Cohorts) -> None:
    assert save(max_steps=3).version == 3
    assert save_compensations("triage", {}, expected_version=3, actor="t").version == 3
    assert save().version == 3


def test_exactly_what_was_tried_is_taken(demanding: Cohorts) -> None:
    replay = demanding.done()
    assert replay.verdict == "same"
    saved = save(**demanding.override)
    assert (saved.version, saved.model, saved.require_replay) == (3, "cheaper", True)


def test_a_part_of_it_or_more_is_another_change(demanding: Cohorts) -> None:
    demanding.done()
    assert "none tried this change" in refused(model="cheaper")
    assert "none tried this change" in refused(**{**demanding.override, "instructions": "Be brief."})  # fmt: skip
    assert "none tried this change" in refused(**{**demanding.override, "model": "another"})


def test_what_was_not_tried_is_not_saved_along(demanding: Cohorts) -> None:
    demanding.done()
    assert "max_steps, write_posture was not tried" in refused(**demanding.override, max_steps=9, write_posture="hold")  # fmt: skip
    assert save(**demanding.override, name="Cheaper triage").name == "Cheaper triage"


def test_a_verdict_over_an_earlier_version_is_none(demanding: Cohorts) -> None:
    demanding.done()
    save(max_steps=9)
    assert "none tried this change of version 3" in refused(**demanding.override)


def test_a_regression_gives_no_leave_and_a_change_does(demanding: Cohorts) -> None:
    demanding.turns[0] = Turn(text="", refusal="no")
    demanding.done()
    assert "regressed" in refused(**demanding.override)
    demanding.turns[0] = Turn(text="otherwise")
    assert demanding.done(strict=True).verdict == "changed"
    assert save(**demanding.override).model == "cheaper"


@pytest.mark.promise("RP-05")
def test_of_several_verdicts_the_newest_speaks_alone(demanding: Cohorts) -> None:
    assert demanding.done().verdict == "same"
    demanding.turns[0] = Turn(text="", refusal="no")
    worse = demanding.done(strict=True)
    assert worse.verdict == "regressed"
    assert f"replay {worse.id} of it regressed" in refused(**demanding.override)
    Run.objects.update(recording="metadata")
    empty = demanding.done(baseline=1)
    assert f"replay {empty.id} of it replayed no run" in refused(**demanding.override)
    demanding.world.sql("UPDATE replays_cohortreplay SET verdict = 'same' WHERE id = %s", empty.id)
    assert f"replay {empty.id} of it does not verify" in refused(**demanding.override)
    demanding.ask()
    assert f"replay {empty.id} of it" in refused(**demanding.override), "one under way says nothing"


def test_one_that_replayed_nothing_gives_no_leave(demanding: Cohorts) -> None:
    Run.objects.update(recording="metadata")
    assert demanding.done().verdict == ""
    assert "replayed no run" in refused(**demanding.override)


def test_one_that_is_not_done_gives_no_leave(demanding: Cohorts) -> None:
    demanding.ask()
    assert "none tried this change" in refused(**demanding.override)


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE replays_cohortreplay SET verdict = 'same'",
        "UPDATE replays_cohortreplay SET verdict = 'same', digest = repeat('a', 64)",
        'UPDATE replays_cohortreplay SET override = override || \'{"model": "evil"}\'',
    ],
)
def test_a_row_that_was_changed_behind_our_back_gives_no_leave(demanding: Cohorts, change: str) -> None:  # fmt: skip
    demanding.turns[0] = Turn(text="", refusal="no")
    assert demanding.done().verdict == "regressed"
    demanding.world.sql(change)
    override = CohortReplay.objects.get().override
    assert "does not verify" in refused(**override)


def test_a_verdict_whose_digest_was_computed_anew_gives_no_leave(demanding: Cohorts) -> None:
    """By whoever can write to the database and knows how the digest is made, but has no key of ours."""
    demanding.turns[0] = Turn(text="", refusal="no")
    replay = demanding.done()
    assert replay.verdict == "regressed"
    replay.verdict = "same"
    replay.digest = digest_of(replay)
    replay.save(update_fields=["verdict", "digest"])
    assert "its seal is that of another verdict" in refused(**demanding.override)


def test_a_result_that_was_changed_behind_our_back_gives_no_leave(demanding: Cohorts) -> None:
    assert demanding.done().verdict == "same"
    demanding.world.sql("DELETE FROM replays_replayed WHERE number = 1")
    assert "does not verify: the results of its runs were changed since" in refused(**demanding.override)  # fmt: skip


def test_a_row_that_was_written_by_hand_gives_no_leave(demanding: Cohorts) -> None:
    """Whoever can write to the database, and has no key of ours."""
    replay = demanding.done()
    demanding.world.sql("INSERT INTO replays_cohortreplay SELECT (jsonb_populate_record(c, jsonb_build_object('id', gen_random_uuid(), 'override', '{\"model\": \"evil\"}'::jsonb))).* FROM replays_cohortreplay c WHERE c.id = %s", replay.id)  # fmt: skip
    assert CohortReplay.objects.count() == 2
    assert "does not verify" in refused(model="evil")


def test_it_counts_as_it_stands_before_the_save(demanding: Cohorts) -> None:
    refused(model="cheaper", require_replay=False)
    assert save(require_replay=False).require_replay is False
    assert save(model="cheaper").model == "cheaper"


@pytest.mark.promise("RP-05")
def test_a_save_by_a_release_that_knows_no_demand_does_not_drop_it(demanding: Cohorts) -> None:
    """It writes a version without the field, and leaves the column as it is."""
    agent = Agent.objects.get(key="triage")
    known = {name: it for name, it in definition_of(agent).items() if name != "require_replay"}
    agent.versions.create(number=3, definition={**known, "max_steps": 7}, created_by="before")
    Agent.objects.filter(key="triage").update(version=3, max_steps=7)
    agent.refresh_from_db()
    assert definition_of(agent)["require_replay"] is True
    assert "none tried this change of version 3" in refused(model="cheaper")
    assert save(max_steps=8).require_replay is True


def test_a_version_names_the_demand_only_where_there_is_one(cohorts: Cohorts) -> None:
    """A release before that sets the undos of an agent takes the rest from its version, and knows no such field."""
    agent = save(max_steps=9)
    kept = agent.versions.get(number=agent.version).definition
    assert ("require_replay" in kept, definition_of(agent)["require_replay"]) == (False, False)
    assert save(max_steps=9).version == agent.version
    agent = save(require_replay=True)
    assert agent.versions.get(number=agent.version).definition["require_replay"] is True
