"""A verdict covers all that it was given for, and shows whatever was changed of it since."""

from __future__ import annotations

import base64
import dataclasses

import pytest
from django.conf import settings

from liyagent.replays.forget import forget_replays
from liyagent.replays.models import CohortReplay, Replayed
from liyagent.replays.verdict import standing_of_verdict
from liyagent.replays.words import read_words
from runs.sealed_rows import RowsResealed, reseal_rows, rows_by_key
from tests.fakes.model_server import Turn
from tests.unit.replays.cohorts import Cohorts, cohorts
from tests.unit.replays.conftest import replays, world
from tests.unit.runs.carrying.conftest import never

__all__ = ["cohorts", "replays", "world"]
CHANGES = (
    "UPDATE replays_cohortreplay SET verdict = 'same'",
    "UPDATE replays_cohortreplay SET agent_version = 2",
    "UPDATE replays_cohortreplay SET agent_key = 'other'",
    "UPDATE replays_cohortreplay SET override = override || '{\"model\": \"dearer\"}'",
    "UPDATE replays_cohortreplay SET strict = true",
    "UPDATE replays_cohortreplay SET baseline = 3",
    "UPDATE replays_cohortreplay SET runs = runs - 0",
    "UPDATE replays_cohortreplay SET skipped = '[{\"run\": \"x\", \"reason\": \"y\"}]'",
    "UPDATE replays_cohortreplay SET summary = summary || '{\"replayed\": 9}'",
    "UPDATE replays_cohortreplay SET beyond_baseline = 'same'",
    "UPDATE replays_cohortreplay SET digest = repeat('0', 64)",
    "UPDATE replays_cohortreplay SET sealed = NULL",
    "UPDATE replays_cohortreplay SET sealed = set_byte(sealed, 20, 255 - get_byte(sealed, 20))",
    "UPDATE replays_cohortreplay SET key_id = 'k9'",
)  # fmt: skip
OF_RESULTS = (
    "UPDATE replays_replayed SET verdict = 'same'",
    "UPDATE replays_replayed SET status = 'answered', error = 'x'",
    "UPDATE replays_replayed SET diff = diff || '{\"drift\": 7}'",
    "DELETE FROM replays_replayed WHERE number = 0",
    "UPDATE replays_replayed SET run_id = gen_random_uuid() WHERE number = 0",
)  # fmt: skip


def standing(*, with_results: bool = True) -> bool | None:
    return standing_of_verdict(CohortReplay.objects.get(), with_results=with_results).is_verified


def changed_verdict(cohorts: Cohorts) -> CohortReplay:
    cohorts.record(2)
    cohorts.turns[0] = Turn(text="otherwise")
    replay = cohorts.done()
    assert (replay.verdict, standing(), standing(with_results=False)) == ("changed", True, True)
    return replay


@pytest.mark.promise("RP-05")
@pytest.mark.parametrize("change", CHANGES)
def test_a_verdict_that_was_changed_does_not_verify(cohorts: Cohorts, change: str) -> None:
    changed_verdict(cohorts)
    cohorts.world.sql(change)
    assert standing() is False
    assert standing(with_results=False) is False


@pytest.mark.parametrize("change", OF_RESULTS)
def test_results_that_were_changed_take_the_verdict_with_them(cohorts: Cohorts, change: str) -> None:  # fmt: skip
    changed_verdict(cohorts)
    cohorts.world.sql(change)
    assert standing() is False
    told = standing_of_verdict(CohortReplay.objects.get(), with_results=True)
    assert told.why == "the results of its runs were changed since"


def test_the_seal_of_another_verdict_is_none_of_it(cohorts: Cohorts) -> None:
    """A whole verdict that was written by hand, its digest computed right, needs a key of ours."""
    first = changed_verdict(cohorts)
    cohorts.turns.clear()
    second = cohorts.done(strict=True)
    assert second.verdict == "same"
    cohorts.world.sql("UPDATE replays_cohortreplay SET sealed = (SELECT sealed FROM replays_cohortreplay WHERE id = %s) WHERE id = %s", second.id, first.id)  # fmt: skip
    first.refresh_from_db()
    assert standing_of_verdict(first, with_results=False).why == "its seal is none of ours"


def test_what_has_no_verdict_is_neither(cohorts: Cohorts) -> None:
    cohorts.record()
    cohorts.ask()
    assert standing() is None


def test_words_are_sealed_and_bound_to_their_place(cohorts: Cohorts) -> None:
    changed_verdict(cohorts)
    first, second = Replayed.objects.order_by("number")
    words = read_words(second)
    assert (words["was"]["answer"], words["now"]["answer"]) == ("disk 0 is fine", "otherwise")
    (row,) = cohorts.world.sql("SELECT string_agg(diff::text, '') FROM replays_replayed")
    assert "otherwise" not in row[0]
    assert "disk 0" not in row[0]
    Replayed.objects.filter(pk=first.pk).update(sealed=second.sealed)
    first.refresh_from_db()
    assert "cannot be opened" in read_words(first)["problem"]


def test_a_new_key_reaches_results_and_verdicts(cohorts: Cohorts, monkeypatch: pytest.MonkeyPatch) -> None:  # fmt: skip
    changed_verdict(cohorts)
    newer = ("k2", base64.b64decode("AQECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="))
    conf = dataclasses.replace(settings.LIYAGENT, seal_keys=(newer, *settings.LIYAGENT.seal_keys))
    monkeypatch.setattr(settings, "LIYAGENT", conf)
    told = RowsResealed()
    reseal_rows(told, on_progress=lambda: None)
    assert (told.done, told.left, told.broken) == (3, 0, 0)
    assert rows_by_key() == {"k2": 3}
    assert standing() is True
    assert [read_words(it)["was"]["status"] for it in Replayed.objects.all()] == ["answered"] * 2
    monkeypatch.setattr(settings, "LIYAGENT", dataclasses.replace(conf, seal_keys=conf.seal_keys[1:]))  # fmt: skip
    assert standing() is False
    assert "k2" in standing_of_verdict(CohortReplay.objects.get(), with_results=False).why


def test_what_ended_long_ago_is_forgotten_but_for_what_still_gives_leave(cohorts: Cohorts) -> None:
    changed_verdict(cohorts)
    assert forget_replays(never) == 0
    cohorts.world.sql("UPDATE replays_cohortreplay SET ended_at = ended_at - interval '98 days'")
    assert forget_replays(never) == 0, "its agent stands as it was tried"
    cohorts.world.sql("UPDATE agents_agent SET version = 2")
    assert forget_replays(never) == 1
    assert not CohortReplay.objects.exists()
    assert not Replayed.objects.exists()


def test_a_regression_is_kept_as_long_as_it_speaks_and_what_came_before_it_goes(cohorts: Cohorts) -> None:  # fmt: skip
    changed_verdict(cohorts)
    cohorts.turns[0] = Turn(text="", refusal="no")
    newest = cohorts.done()
    assert newest.verdict == "regressed"
    cohorts.world.sql("UPDATE replays_cohortreplay SET ended_at = ended_at - interval '98 days'")
    assert forget_replays(never) == 1
    assert CohortReplay.objects.get() == newest
    cohorts.world.sql("UPDATE agents_agent SET version = 2")
    assert forget_replays(never) == 1
