"""A row of a cohort replay that somebody wrote by hand: it is read as not verified, and keeps nobody from reading the others."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from django.contrib.auth import get_user_model
from django.test import Client

from liyagent.replays.listing import results_of
from liyagent.replays.models import CohortReplay, Replayed
from liyagent.replays.report_text import report_text
from liyagent.replays.verdict import standing_of_verdict
from tests.unit.replays.cohorts import Cohorts, cohorts
from tests.unit.replays.conftest import replays, world

__all__ = ["cohorts", "replays", "world"]
OTHERS = ("null", "7", '"x"', "[]", '["x"]', "[[1]]", '[{"run": 5}]', "{}", '{"a": [1]}', "1e400")
OF_DIFF = ('{"counts": [], "steps": 3}', '{"differs": 1, "status": {"was": []}}')
OF_SUMMARY = ('{"verdicts": []}', '{"verdicts": {"same": "many"}}')
LIST, ALL = "/admin/replays/cohortreplay/", "/api/agents/triage/cohort-replays"


@pytest.fixture
def pages(cohorts: Cohorts) -> Callable[[], list[tuple[str, int]]]:
    """Of a done cohort replay, with one that waits beside it: the addresses that do not answer."""
    cohorts.record(2)
    replay = cohorts.done(baseline=1)
    cohorts.ask(limit=1)
    result = Replayed.objects.filter(cohort=replay).first()
    assert result is not None
    one = f"/api/cohort-replays/{replay.id}"
    addresses = (
        ALL, one, f"{one}/runs/{result.run_id}", LIST, f"{LIST}{replay.id}/change/", f"{LIST}{replay.id}/now/",
        f"{LIST}{replay.id}/runs/{result.pk}/", f"{LIST}try/?agent=triage&again={replay.id}",
    )  # fmt: skip
    client = Client(raise_request_exception=False)
    client.force_login(get_user_model().objects.create_superuser("root"))

    def broken() -> list[tuple[str, int]]:
        found = [(it, client.get(it).status_code) for it in addresses]
        return [it for it in found if it[1] != 200]

    return broken


@pytest.mark.promise("RP-06")
@pytest.mark.timeout(120)
@pytest.mark.parametrize(
    ("table", "name", "values"),
    [
        ("replays_cohortreplay", "override", OTHERS),
        ("replays_cohortreplay", "runs", OTHERS),
        ("replays_cohortreplay", "skipped", OTHERS),
        ("replays_cohortreplay", "estimate", OTHERS),
        ("replays_cohortreplay", "summary", (*OTHERS, *OF_SUMMARY)),
        ("replays_replayed", "diff", (*OTHERS, *OF_DIFF)),
    ],
)
def test_one_broken_row_breaks_no_page(
    cohorts: Cohorts,
    pages: Callable[[], list[tuple[str, int]]],
    table: str,
    name: str,
    values: tuple[str, ...],
) -> None:
    assert pages() == []
    replay = CohortReplay.objects.get(status="done")
    of = f"WHERE {'id' if table == 'replays_cohortreplay' else 'cohort_id'} = '{replay.id}'"
    for value in values:
        cohorts.world.sql(f"UPDATE {table} SET {name} = %s::jsonb {of}", value)
        assert pages() == [], value
        replay.refresh_from_db()
        assert report_text(replay, results_of(replay))
        is_verified = standing_of_verdict(replay, with_results=True).is_verified
        # What it is expected to cost is nothing that a verdict says; nobody was skipped.
        assert is_verified is (name in {"estimate", "skipped"})
