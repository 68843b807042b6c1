"""The pages of cohort replays: what was seen in a sentence, nothing that was said is obeyed, and lists leave words where they are."""

from __future__ import annotations

import re
from uuid import uuid4

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from liyagent.agents.models import Agent
from liyagent.agents.replayed import TRIED
from liyagent.audit.models import AuditRow
from liyagent.replays.cancel import cancel_replay
from liyagent.replays.models import CohortReplay, Replayed
from liyagent.replays.page import in_order
from liyagent.replays.wording import beyond_told, sentence_of
from runs.models import Run
from tests.fakes.model_server import Turn
from tests.flows.test_tickets_console import client_of, text
from tests.unit.replays.cohorts import Cohorts, cohorts
from tests.unit.replays.conftest import asks, replays, world

__all__ = ["cohorts", "replays", "world"]
LIST = "/admin/replays/cohortreplay/"
MAY = ("agents.operate", "transcripts.content.read")
HOSTILE = "<img src=x onerror=alert(1)>\u202eevil"


def address(cohort: CohortReplay, more: str = "change/") -> str:
    return f"{LIST}{cohort.id}/{more}"


def seen(page: str) -> str:
    """What a person reads of a page."""
    return " ".join(re.sub(r"<[^>]+>", " ", page.partition('id="content"')[2]).split())


@pytest.fixture
def ann(cohorts: Cohorts) -> Client:
    return client_of("ann", *MAY)


@pytest.mark.promise("RP-05")
def test_what_was_seen_is_said_in_a_sentence_and_never_that_it_is_safe() -> None:
    counted = [
        ("same", {"same": 1}, "The one run came out the same"),
        ("same", {"same": 4}, "All 4 runs came out the same"),
        ("changed", {"same": 3, "changed": 1}, "1 of 4 runs came out otherwise, 3 are the same; each that answered before answers now."),
        ("changed", {"changed": 2}, "2 of 2 runs came out otherwise; each that answered before answers now."),
        ("regressed", {"regressed": 1, "same": 1}, "1 of 2 runs answered before and does not any more; 1 is the same."),
        ("regressed", {"regressed": 2}, "2 of 2 runs answered before and do not any more."),
        ("", {}, "No run could be replayed"),
    ]  # fmt: skip
    for verdict, counts, told in counted:
        sentence = sentence_of("done", verdict, counts)
        assert told in sentence
        assert "safe" not in sentence.casefold()
    assert "nothing of it is more than noise" in beyond_told("same", 2)
    assert (beyond_told("", 2), beyond_told("changed", 0)) == ("", "")


def test_nothing_that_was_said_is_obeyed_or_hidden(cohorts: Cohorts, ann: Client) -> None:
    cohorts.record()
    cohorts.turns[0] = Turn(text=f"otherwise {HOSTILE}")
    cohort = cohorts.done(
        override={**cohorts.override, "instructions": f"line\n{HOSTILE}"}, strict=True
    )
    run = text(ann, address(cohort, f"runs/{Replayed.objects.get().pk}/"))
    for page in (text(ann, address(cohort)), run):
        assert "<img src=x" not in page
        assert "\u202e" not in page
        assert "\\u202eevil" in page
    assert '<ins class="liy-new">otherwise' in run
    assert "look after disk 0" in run
    assert "other instructions" in text(ann, LIST)


def test_the_dashboard_leads_to_the_newest(cohorts: Cohorts, ann: Client) -> None:
    cohorts.record()
    assert "Cohort replays, last 24 hours" not in text(ann, "/admin/")
    cohort = cohorts.done()
    board = text(ann, "/admin/").partition('id="replays"')[2].partition("</div>")[0]
    assert address(cohort) in board
    assert "same" in board
    assert address(cohort) not in text(client_of("vera", "runs.view_run"), "/admin/")


def test_one_that_cannot_be_replayed_says_each_reason(cohorts: Cohorts, ann: Client) -> None:
    run = cohorts.record()[0]
    cohorts.world.sql("DELETE FROM runs_part")
    cohort = cohorts.done()
    page = seen(text(ann, address(cohort)))
    assert "No run could be replayed" in page
    assert f"{run.id} what it was given is not kept any more" in page
    assert "The one run" not in page


def test_one_that_failed_says_why_and_makes_no_verdict(cohorts: Cohorts, ann: Client) -> None:
    cohorts.record()
    cohorts.before = lambda _body: Turn(status=404, text="no such model")
    cohort = cohorts.done()
    page = seen(text(ann, address(cohort)))
    assert "It could not be carried out, and says nothing about the model." in page
    assert "cannot be asked" in page
    assert "none: it came to no verdict" in page


def test_one_is_cancelled_by_who_may_ask_and_once(cohorts: Cohorts, ann: Client) -> None:
    cohorts.record(2)
    cohort = cohorts.ask()
    assert "0 of 2 replays done" in text(ann, address(cohort))
    assert "no further run" in text(ann, address(cohort, "cancel/")).casefold()
    assert CohortReplay.objects.get().status == "queued"
    ben = client_of("ben", "agents.operate")
    assert ben.post(address(cohort, "cancel/")).status_code == 403
    told = ann.post(address(cohort, "cancel/"), follow=True).content.decode()
    assert "It was cancelled." in seen(told)
    assert "cancelled by ann" in told
    assert "has ended as cancelled" in ann.post(address(cohort, "cancel/"), follow=True).content.decode()  # fmt: skip
    assert "Try another" in told
    assert not re.search(r'href="[^"]*cancel/"', told)


def test_the_part_that_changes_says_when_it_will_no_more(cohorts: Cohorts, ann: Client) -> None:
    cohorts.record()
    cohort = cohorts.ask()
    now = ann.get(address(cohort, "now/"))
    assert (now["X-Liyagent-Ended"], "no-store" in now["Cache-Control"]) == ("no", True)
    assert "<html" not in now.content.decode()
    cancel_replay(cohort.id, actor="ann")
    assert ann.get(address(cohort, "now/"))["X-Liyagent-Ended"] == "yes"
    assert ann.post(address(cohort, "now/")).status_code == 403


def test_the_part_that_changes_ends_with_the_digest_that_holds(cohorts: Cohorts, ann: Client) -> None:  # fmt: skip
    cohorts.record()
    cohort = cohorts.ask()
    assert "none yet" in ann.get(address(cohort, "now/")).content.decode()
    cohorts.work()
    told = ann.get(address(cohort, "now/")).content.decode()
    assert "verifies" in told
    assert CohortReplay.objects.get(id=cohort.id).digest in told


def test_a_run_that_differs_in_more_ways_stands_before_one_that_differs_in_fewer(cohorts: Cohorts) -> None:  # fmt: skip
    cohorts.record(2)
    cohort = cohorts.done()
    first, second = Replayed.objects.filter(cohort=cohort, lane=0).order_by("number")
    for row, differs in ((first, ["arguments"]), (second, ["answer", "tools"])):
        row.verdict, row.diff = "changed", {**row.diff, "differs": differs}
        row.save()
    assert [it.number for it in in_order(cohort)] == [second.number, first.number]


def test_what_is_not_there_is_not_found(cohorts: Cohorts, ann: Client) -> None:
    cohorts.record()
    cohort = cohorts.done()
    other = CohortReplay.objects.get()
    assert ann.get(f"{LIST}{uuid4()}/now/").status_code == 404
    assert ann.get(address(cohort, "runs/999999/")).status_code == 404
    assert ann.get(address(cohort, "runs/99999999999999999999/")).status_code == 404
    assert ann.get(f"{LIST}{uuid4()}/runs/{other.results.get().pk}/").status_code == 404
    assert ann.get(f"{LIST}try/?agent=nobody").status_code == 404
    assert "There is no cohort replay" in ann.get(f"{LIST}{uuid4()}/change/", follow=True).content.decode()  # fmt: skip


def test_words_that_do_not_open_are_told_of(cohorts: Cohorts, ann: Client) -> None:
    cohorts.record()
    cohort = cohorts.done()
    Replayed.objects.update(key_id="gone")
    run = seen(text(ann, address(cohort, f"runs/{Replayed.objects.get().pk}/")))
    assert "Its words cannot be opened" in run
    assert "disk 0 is fine" not in run


def test_calls_that_the_record_has_not_stand_alone(cohorts: Cohorts, ann: Client) -> None:
    cohorts.record()
    cohorts.before = lambda body: None if any(it["role"] == "tool" for it in body["messages"]) or "disk 0" not in str(body["messages"]) else asks(("v/look", {"at": 7}), ("v/look", {"at": 8}))  # fmt: skip
    cohort = cohorts.done(baseline=1)
    result = Replayed.objects.get(lane=0)
    run = text(ann, address(cohort, f"runs/{result.pk}/"))
    assert '<del class="liy-gone">0</del>' in run
    assert '<ins class="liy-new">7</ins>' in run
    assert "not in the record" in run
    assert "Here by recorded call 1." in run
    assert "unchanged agent, 1" in run
    page = seen(text(ann, address(cohort)))
    assert "+ v/look" in page
    assert "1 not in the record" in page


def test_a_list_reads_no_words_and_a_page_no_more_for_more_runs(
    cohorts: Cohorts, ann: Client
) -> None:
    cohorts.record(6)
    few, many = cohorts.done(limit=1), cohorts.done(limit=6)
    asked = []
    for path in (LIST, address(few), address(many)):
        ann.get(path)
        with CaptureQueriesContext(
            connection,
        ) as queries:
            ann.get(path)
        asked.append([it["sql"] for it in queries.captured_queries])
    listed, one, six = asked
    assert len(one) == len(six)
    assert not any('"sealed"' in it and "replays_replayed" in it for it in (*one, *six))
    assert not any('"replays_cohortreplay"."sealed"' in it or '"replays_cohortreplay"."skipped"' in it for it in listed)  # fmt: skip


FORM = {"model": "cheaper", "provider": "scripted", "instructions": "", "base_url": "", "api_key_env": "", "limit": "", "runs": "", "baseline": "0", "version": "1"}  # fmt: skip


def form(cohorts: Cohorts, **given: str) -> dict[str, str]:
    """The form as it stands, but for what is given."""
    stands = {**FORM, "provider": "openai", "base_url": cohorts.server.base_url}
    return {**stands, **given}


@pytest.mark.promise("RP-01")
def test_a_form_that_is_refused_says_why_beside_the_field_and_keeps_nothing(
    cohorts: Cohorts, ann: Client
) -> None:
    run = cohorts.record()[0]
    path = f"{LIST}try/?agent=triage"
    agent = Agent.objects.get(key="triage")
    stands = {name: getattr(agent, name) for name in TRIED}
    told = [
        (stands, "changes nothing"),
        ({"limit": "2", "runs": str(run.id)}, "does not go with runs"),
        ({"runs": "x"}, "runs[0] is &#x27;x&#x27;"),
        ({"runs": f"{run.id}, {run.id}"}, f"runs[1] is run {run.id} again"),
        ({"limit": "51"}, "less than or equal to 50"),
        ({"baseline": "6"}, "less than or equal to 5"),
        ({"model": ""}, "This field is required"),
        ({"base_url": "nonsense"}, "base_url"),
        ({"version": "9"}, "The agent was saved since this was shown"),
        ({"version": ""}, "required"),
        ({"base_url": cohorts.server.base_url}, "wants the permission agents.change_agent"),
    ]
    for given, expected in told:
        sent = {**form(cohorts), **stands, "model": "cheaper", **given, "start": "yes"}
        page = ann.post(path, sent).content.decode()
        assert expected in page, given
        assert "What it would take" not in page
    assert (CohortReplay.objects.count(), AuditRow.objects.filter(action="agent.cohort_replay").count()) == (0, 0)  # fmt: skip


def test_only_what_was_seen_is_started_and_the_very_same_once(cohorts: Cohorts) -> None:
    cohorts.record(2)
    olga = client_of("olga", *MAY, "agents.change_agent", "agents.view_agent")
    path = f"{LIST}try/?agent=triage"
    given = form(cohorts)
    seen_now = olga.post(path, {**given, "start": "yes", "seen": "guessed"}).content.decode()
    assert "2 runs" in seen(seen_now)
    assert "no price is set" in seen_now
    assert CohortReplay.objects.count() == 0
    (token,) = re.findall(r'name="seen" value="([^"]+)"', seen_now)
    first, again = (olga.post(path, {**given, "start": "yes", "seen": token}) for _ in range(2))
    assert (first.status_code, first["Location"]) == (302, again["Location"])
    cohort = CohortReplay.objects.get()
    assert (cohort.asked_by, cohort.override["model"]) == ("olga", "cheaper")
    tried = text(olga, f"{path}&again={cohort.id}")
    assert 'name="model" value="cheaper"' in tried
    assert text(olga, f"{path}&again=nonsense").count('value="cheaper"') == 0
    assert "triage" in text(olga, f"{LIST}try/")


def test_an_agent_without_a_run_to_replay_offers_no_start(cohorts: Cohorts) -> None:
    cohorts.record(7)
    Run.objects.update(recording="metadata")
    olga = client_of("olga", *MAY, "agents.change_agent")
    page = olga.post(f"{LIST}try/?agent=triage", form(cohorts)).content.decode()
    assert "There is nothing to replay." in page
    assert "and 2 more" in page
    assert "Start it" not in page


@pytest.mark.promise("RP-06")
def test_the_pages_are_for_who_may_operate(cohorts: Cohorts) -> None:
    cohorts.record()
    cohort = cohorts.done()
    vera = client_of("vera", "agents.view_agent", "transcripts.content.read")
    for path in (LIST, address(cohort), address(cohort, "now/"), address(cohort, f"runs/{Replayed.objects.get().pk}/"), f"{LIST}try/"):  # fmt: skip
        assert vera.get(path).status_code == 403, path
    assert Client().get(address(cohort)).status_code == 302


def test_it_is_found_by_agent_and_by_id(cohorts: Cohorts, ann: Client) -> None:
    cohorts.record()
    cohort = cohorts.done()
    for term in ("triage", str(cohort.id), cohort.mission):
        assert f"{LIST}{cohort.id}/change/" in text(ann, f"{LIST}?q={term}")
    assert f"{LIST}{cohort.id}/change/" not in text(ann, f"{LIST}?q=other")
    assert f"{LIST}{cohort.id}/change/" in text(ann, f"{LIST}?verdict=same&status=done")
