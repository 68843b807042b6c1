"""The page on which a person tries another model on past runs: what it would cost first, then it is asked for."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.urls import reverse

from liyagent.access.permissions import OPERATE, READ_WORDS
from liyagent.agents.models import Agent, Recording
from liyagent.agents.replayed import TRIED
from liyagent.core.errors import LiyagentError
from liyagent.core.tables import cell
from liyagent.replays.ask import Wanted, ask_replay
from liyagent.replays.forms import TryForm
from liyagent.replays.models import CohortReplay
from liyagent.replays.page import estimate_told, tried_of

CHANGE_AGENT = "agents.change_agent"
MOST_AGENTS = 200
# Of what was passed over, so much is told before anything is asked for.
MOST_TOLD = 5
TEMPLATE = "admin/replays/cohortreplay/try.html"


def may_ask(request: HttpRequest) -> bool:
    """Whether who looks may have runs replayed: what the API wants for it (RP-06)."""
    return request.user.has_perms((OPERATE, READ_WORDS))


def show_try(request: HttpRequest) -> HttpResponse:
    """Show the form by GET, what it would cost by POST, and ask for it once exactly that was seen."""
    if not may_ask(request):
        raise PermissionDenied
    key = request.GET.get("agent", "")
    agent = Agent.objects.filter(key=key).first() if key else None
    if key and agent is None:
        raise Http404
    if agent is None:
        return _shown(request, {"agents": _agents(), "title": "Try another model on past runs"})
    wanted = None
    if request.method == "POST":
        form = TryForm(agent, request.POST)
        wanted = _wanted(request, form)
        is_seen = wanted is not None and request.POST.get("seen") == wanted.subject
        if wanted is not None and is_seen and "start" in request.POST and wanted.cohort.runs:
            return _asked(request, wanted)
    else:
        form = TryForm(agent, initial=_tried_before(request, agent))
    shown = [it for it in form.visible_fields() if it.name in TRIED]
    context = {
        "agent": agent,
        "form": form,
        "title": f"Try another model on past runs of {agent.key}",
        "tried_fields": shown,
        "how_fields": [it for it in form.visible_fields() if it.name not in TRIED],
        **(_cost(wanted) if wanted is not None else {}),
    }
    return _shown(request, context)


def _wanted(request: HttpRequest, form: TryForm) -> Wanted | None:
    if not form.is_valid():
        for said in form.errors.pop("version", []):
            messages.error(request, str(said))
        return None
    try:
        return form.wanted(may_choose_endpoint=request.user.has_perm(CHANGE_AGENT))
    except LiyagentError as error:
        messages.error(request, cell(str(error)))
    return None


def _asked(request: HttpRequest, wanted: Wanted) -> HttpResponse:
    asked = ask_replay(wanted, asked_by=request.user.get_username())
    if not asked.is_new:
        messages.info(request, "The very same goes on already: this is it.")
    address = reverse("admin:replays_cohortreplay_change", args=[asked.replay.id])
    return HttpResponseRedirect(address)


def _cost(wanted: Wanted) -> dict[str, Any]:
    skipped = wanted.cohort.skipped
    return {
        "seen": wanted.subject,
        "tried": tried_of(wanted.override),
        "runs": len(wanted.cohort.runs),
        "expected": estimate_told(wanted.estimate),
        "has_price": wanted.estimate.get("cost_micros") is not None,
        "skipped": [(cell(it["run"]), cell(it["reason"])) for it in skipped[:MOST_TOLD]],
        "skipped_more": max(0, len(skipped) - MOST_TOLD),
    }


def _tried_before(request: HttpRequest, agent: Agent) -> dict[str, Any]:
    """The fields of an earlier cohort replay of this agent, to be changed and tried again."""
    try:
        earlier = UUID(request.GET.get("again", ""))
    except ValueError:
        return {}
    row = CohortReplay.objects.filter(id=earlier, agent_key=agent.key).first()
    if row is None:
        return {}
    return {**row.override, "strict": row.strict, "baseline": row.baseline}


def _agents() -> list[Agent]:
    """The agents whose runs kept their words, by key."""
    rows = Agent.objects.filter(recording=Recording.FULL, is_enabled=True, is_contained=False)
    return list(rows.only("key", "name", "model", "provider").order_by("key")[:MOST_AGENTS])


def _shown(request: HttpRequest, context: dict[str, Any]) -> HttpResponse:
    options = CohortReplay._meta
    return TemplateResponse(
        request, TEMPLATE, {**admin.site.each_context(request), "opts": options, **context}
    )
