"""Cohort replays in the console: asked for from an agent once what they cost was seen, and read by who may read words."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from liyagent.replays.models import CohortReplay, Replayed
from tests.databases import FreshDatabase
from tests.flows.replaying import AGENT, carry_jobs, desk_at_work
from tests.flows.test_tickets_console import client_of, text

LIST = "/admin/replays/cohortreplay/"
TRY = f"{LIST}try/?agent={AGENT}"
MAY = ("agents.operate", "agents.view_agent", "transcripts.content.read", "runs.view_run")


def form_of(page: str) -> dict[str, str]:
    """What the form would send as it stands."""
    fields = re.findall(r'<input[^>]*?name="(\w+)"[^>]*?value="([^"]*)"', page)
    (model,) = re.findall(r'name="model" value="([^"]*)"', page)
    text = re.findall(r'<textarea name="instructions"[^>]*>\s*(.*?)</textarea>', page, re.DOTALL)
    known = {name: value for name, value in fields if name in {"version", "baseline", "seen"}}
    return {**known, "model": model, "provider": "scripted", "instructions": text[0], "runs": "", "limit": ""}  # fmt: skip


@pytest.mark.promise("RP-05")
@pytest.mark.promise("RP-06")
def test_a_cheaper_model_is_tried_from_the_agents_page_and_read_run_by_run(
    fresh_db: FreshDatabase, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ann = client_of("ann", *MAY)
    with desk_at_work(tmp_path, monkeypatch):
        given = {**form_of(text(ann, TRY)), "model": "alert-desk-small", "baseline": "1"}
        told = ann.post(TRY, given).content.decode()
        assert "16 runs" in told
        assert "32 replays, 192 model calls" in told
        assert CohortReplay.objects.count() == 0
        seen = form_of(told)["seen"]
        # What was changed since is told of first, and not started.
        other = ann.post(TRY, {**given, "limit": "3", "seen": seen, "start": "yes"}).content.decode()  # fmt: skip
        assert "3 runs" in other
        assert CohortReplay.objects.count() == 0
        begun = ann.post(TRY, {**given, "seen": seen, "start": "yes"})
        cohort = CohortReplay.objects.get()
        assert begun["Location"] == f"{LIST}{cohort.id}/change/"
        waiting = text(ann, begun["Location"])
        assert "It waits for a process" in waiting
        assert "0 of 32 replays done" in waiting
        carry_jobs()
    page = text(ann, begun["Location"])
    assert "1 of 16 runs answered before and does not any more; 3 came out otherwise and 12 are the same." in page  # fmt: skip
    assert "More than noise: a run that the unchanged agent answers" in page
    assert "\N{MINUS SIGN} incident/page_on_call" in page
    assert "Safe" not in page
    cohort.refresh_from_db()
    assert cohort.digest in page
    assert "does not verify" not in page
    lightly = Replayed.objects.get(lane=0, diff__drift=1)
    run = text(ann, f"{LIST}{cohort.id}/runs/{lightly.pk}/")
    assert '<del class="liy-gone">p2</del>' in run or '<del class="liy-gone">p3</del>' in run
    assert '<ins class="liy-new">p4</ins>' in run
    dropped = Replayed.objects.filter(lane=0, diff__dropped__contains=["incident/page_on_call"], verdict="changed").first()  # fmt: skip
    assert dropped is not None
    run = text(ann, f"{LIST}{cohort.id}/runs/{dropped.pk}/")
    assert "nobody has been paged" in re.sub(r"<[^>]+>", "", run)
    assert "not asked for" in run
    who_reads_none(cohort, dropped)
    Replayed.objects.filter(pk=dropped.pk).update(verdict="same")
    assert "does not verify" in text(ann, begun["Location"])


def who_reads_none(cohort: CohortReplay, result: Replayed) -> None:
    """Facts for who operates, no words; and no starting, and no cancelling."""
    ben = client_of("ben", "agents.operate")
    run = text(ben, f"{LIST}{cohort.id}/runs/{result.pk}/")
    assert "transcripts.content.read" in run
    assert "paged" not in re.sub(r"<[^>]+>", "", run)
    assert "incident/page_on_call" in run
    assert ben.get(TRY).status_code == 403
    assert "Try another" not in text(ben, f"{LIST}{cohort.id}/change/")
    assert client_of("vera", "agents.view_agent").get(f"{LIST}{cohort.id}/change/").status_code == 403  # fmt: skip
