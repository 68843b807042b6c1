"""The dashboard: what an operator looks at first. Each card only for those who may see what it counts."""

from __future__ import annotations

from datetime import timedelta
from typing import Any
from urllib.parse import urlencode

from django.http import HttpRequest
from django.urls import reverse
from django.utils.safestring import SafeString

from events.rollback import open_rollback
from liyagent.access.permissions import OPERATE
from liyagent.agents.containment import containment_of_all
from liyagent.approvals.pages import expiry_of
from liyagent.console import figures
from liyagent.console.badges import badges, open_requests, shown
from liyagent.core.moments import age, shown_now, span, when
from liyagent.core.pills import BAD, GOOD, QUIET, WARN, pill
from liyagent.core.tables import cell
from liyagent.entry.listing import GIVEN_UP
from liyagent.replays.models import CohortReplay
from liyagent.replays.page import state_of, verdict_of
from runs.unsettled import unsettled_ids
from runs.wording import CAUSES, in_words

OPEN_WORDS = {
    "running": "running",
    "queued": "queued, waiting for a process",
    "waiting": "waiting for a person or an event",
    "paused": "paused: no living process has the sealing key",
}
# Above this a run at rest is shown as late.
LATE = timedelta(minutes=5)
# Above this a request that nobody decided is.
LONG_UNDECIDED = timedelta(hours=1)
MOST_REPLAYS = 5


def add_dashboard(request: HttpRequest, context: dict[str, Any]) -> dict[str, Any]:
    """Return the index page's context with the dashboard in it."""
    user = request.user
    board: dict[str, Any] = {}
    if user.has_perm("runs.view_run"):
        board |= _runs()
        board["letters"] = _letters()
        board["sagas"] = _sagas()
    if user.has_perm("runs.view_call"):
        board["doubt"] = _doubt()
    if user.has_perm("approvals.view_approval"):
        board["approvals"] = _approvals()
    if user.has_perm(OPERATE):
        board["replays"] = _replays()
    if user.has_perm("leases.view_holder"):
        board["processes"] = _processes()
    if user.has_perm("agents.view_agent"):
        board["contained"] = containment_of_all()
        board["rolled_back"] = open_rollback()
        board["notes"] = [*_notes(), *figures.database_warnings()]
    return {**context, "board": board}


def _runs() -> dict[str, Any]:
    now = shown_now()
    since = now - figures.WINDOW
    day = figures.of_the_day(since)
    taken_over, given_up = day["taken over"], sum(day["given up"].values())
    return {
        "open": [
            {"status": status, "words": OPEN_WORDS[status], "number": shown(number), "url": runs_url(status=status)}
            for status, number in figures.open_now().items()
        ],
        "started": _total(day["started"]),
        "ended": _total(day["ended"]),
        "failed": day["ended"].get("failed", 0),
        "failed_url": runs_url(status="failed", started="24h"),
        "ended_by": sorted(day["ended"].items()),
        "taken_over": [
            {"cause": cause or "not told", "words": in_words(CAUSES, cause), "number": number}
            for cause, number in sorted(taken_over.items(), key=lambda it: -it[1])
        ],
        "taken_over_total": _total(taken_over),
        "given_up": given_up,
        "given_up_url": runs_url(error="lost"),
        "oldest": [_at_rest(it, now) for it in figures.oldest_at_rest()],
        "failing": [
            {**it, "last": when(it["last"]), "url": runs_url(agent_key=it["agent"], status="failed", error=it["error"], started="24h")}
            for it in figures.failing_agents(since)
        ],
    }  # fmt: skip


def _at_rest(row: dict[str, Any], now: Any) -> dict[str, Any]:
    waited = now - row["created_at"]
    is_due = row["not_before"] is None or row["not_before"] <= now
    return {
        **row,
        "age": span(waited.total_seconds()),
        "due": "" if is_due else f"not before {age(row['not_before'], now)}",
        "kind": WARN if is_due and waited > LATE else QUIET,
        "url": reverse("admin:runs_run_change", args=[row["id"]]),
    }


def _doubt() -> dict[str, Any]:
    address = reverse("admin:runs_call_changelist")
    unknown, unsettled = badges().get("unknown", 0), len(unsettled_ids())
    return {
        "unknown": shown(unknown),
        "is_unknown": bool(unknown),
        "unknown_url": f"{address}?doubt=unknown",
        "unsettled": shown(unsettled),
        "unsettled_url": f"{address}?doubt=unsettled",
    }


def _approvals() -> dict[str, Any]:
    facts = open_requests().only("id", "server", "tool", "agent_key", "created_at", "expires_at")
    oldest = facts.order_by("created_at", "id").first()
    told = {"url": reverse("admin:approvals_approval_changelist"), "number": shown(badges().get("pending", 0))}  # fmt: skip
    if oldest is None:
        return {**told, "number": "0"}
    now = shown_now()
    waited = now - oldest.created_at
    return {
        **told,
        "oldest": cell(oldest.name),
        "agent": cell(oldest.agent_key),
        "oldest_url": reverse("admin:approvals_approval_change", args=[oldest.id]),
        "age": pill(span(waited.total_seconds()), WARN if waited > LONG_UNDECIDED else QUIET),
        "expires": expiry_of(oldest),
    }


def _sagas() -> dict[str, Any]:
    number = badges().get("sagas", 0)
    address = reverse("admin:sagas_saga_changelist")
    return {"number": shown(number), "has_any": bool(number), "url": f"{address}?status=needs"}


def _replays() -> list[dict[str, Any]]:
    rows = CohortReplay.objects.filter(created_at__gte=shown_now() - figures.WINDOW)
    newest = rows.only("id", "agent_key", "status", "verdict", "created_at").order_by("-created_at", "-id")  # fmt: skip
    return [
        {
            "url": reverse("admin:replays_cohortreplay_change", args=[it.id]),
            "agent": cell(it.agent_key),
            "state": verdict_of(it.verdict) or state_of(it),
            "asked": when(it.created_at),
        }
        for it in newest[:MOST_REPLAYS]
    ]


def _letters() -> dict[str, Any]:
    number = badges().get("given_up", 0)
    address = reverse("admin:entry_delivery_changelist")
    return {"number": shown(number), "has_any": bool(number), "url": f"{address}?state={GIVEN_UP}"}


def _processes() -> list[dict[str, Any]]:
    now = shown_now()
    return [
        {**it, "state": _process_state(it, now), "since": when(it["since"])}
        for it in figures.processes()
    ]


def _process_state(process: dict[str, Any], now: Any) -> SafeString:
    left = (process["renew_by"] - now).total_seconds()
    if left < 0:
        return pill(f"lease lapsed {span(-left)} ago", BAD)
    if process["is_draining"]:
        return pill(f"draining, lease for {left:.0f} s", WARN)
    return pill(f"alive, lease for {left:.0f} s", GOOD)


def _notes() -> list[str]:
    found = badges()
    told = {
        "contained": "{} agent(s) contained: nothing of them starts, resumes or sends.",
        "unreadable": "{} tool server(s) whose catalogue cannot be read.",
        "to_approve": "{} tool(s) changed since they were approved, or new: their calls are held.",
        "stopped_cron": "{} cron trigger(s) stand still: each says why in the list of cron triggers.",
        "stopped_sources": "{} source(s) whose schedule stands still: each says why in the list of sources.",
    }
    return [text.format(shown(found[name])) for name, text in told.items() if found.get(name)]


def _total(numbers: dict[str, int]) -> str:
    total = sum(numbers.values())
    most = figures.MOST_OF_A_DAY
    return str(total) if total < most else f"{most} or more"


def runs_url(**chosen: Any) -> str:
    """Return the address of the list of runs with these filters."""
    return f"{reverse('admin:runs_run_changelist')}?{urlencode({k: v for k, v in chosen.items() if v})}"
