"""Hand on what a turn is owed: a placeholder, the answer in its place once, requests as cards (ruling 30, CR-04).

A post has no key, an update has one: the activity's id. So the answer is never posted. Whichever placeholder's id is
kept first is the one that the answer updates, however many were posted by processes that died.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.db import connection

from liyagent.approvals.models import Approval, ApprovalStatus
from liyagent.approvals.words import arguments_of
from liyagent.core.errors import LiyagentError
from liyagent.entry.models import Arrival, Delivery
from liyagent.entry.teams.cards import ended_card, request_card, settled_card, with_card
from liyagent.entry.teams.connector import Place, post, update
from liyagent.entry.teams.history import turn_of
from liyagent.entry.teams.models import TeamsBot, TeamsTurn
from liyagent.entry.teams.receive import ANSWER, PLACEHOLDER
from liyagent.entry.teams.words import PLACEHOLDER as PLACEHOLDER_WORDS
from liyagent.entry.teams.words import page_of_run, reply_of
from liyagent.entry.ways import Mark, Sent
from runs.head import answer_of
from runs.models import Run, RunStatus

APPROVAL, SETTLED = "approval", "settled"
# The first stays: an answer that another process puts in its place is the same one.
KEEP = "UPDATE teams_teamsturn SET reply = %s WHERE run_id = %s AND reply = ''"


def send(delivery: Delivery, is_in_doubt: bool, mark: Mark) -> Sent:
    """Send one delivery by Teams. In doubt it is sent again: an update is the same one, a placeholder has no answer."""
    turn = turn_of(delivery.run_id)
    if turn is None:
        return Sent(error="the turn that it belongs to is no longer kept", is_final=True)
    bot = TeamsBot.objects.filter(key=turn.bot_key).first()
    if bot is None:
        return Sent(error=f"there is no bot {turn.bot_key} any more", is_final=True)
    place = Place(bot=bot, service_url=turn.service_url, conversation=turn.conversation)
    return SENDERS_BY_KIND[delivery.kind](delivery, turn, place, mark)


def receiver_of(delivery: Delivery) -> str:
    """Return the conversation, and the bot that speaks in it; empty once the turn is forgotten."""
    turn = turn_of(delivery.run_id)
    return "" if turn is None else f"conversation {turn.conversation} by bot {turn.bot_key}"


def _placeholder(_delivery: Delivery, turn: TeamsTurn, place: Place, mark: Mark) -> Sent:
    if turn.reply:
        return Sent(vendor_id=turn.reply)
    sent = post(place, _message(PLACEHOLDER_WORDS, turn), mark=mark)
    if not sent.error:
        _keep(turn, sent.vendor_id)
    return sent


def _answer(delivery: Delivery, turn: TeamsTurn, place: Place, mark: Mark) -> Sent:
    if not turn.reply:
        # Its placeholder was given up, or is sent again beside it.
        posted = _placeholder(delivery, turn, place, mark)
        if posted.error:
            return posted
        turn.refresh_from_db(fields=["reply"])
    return update(place, turn.reply, _reply(turn, place.bot), mark=mark)


def _reply(turn: TeamsTurn, bot: TeamsBot) -> dict[str, Any]:
    run = Run.objects.filter(id=turn.run_id).defer("seal").first()
    arrival = Arrival.objects.filter(run_id=turn.run_id).first()
    answer = _opened_answer(run)
    message = _message(reply_of(arrival, run, answer), turn)
    status = "" if run is None else RunStatus(run.status)
    if run is not None and (status != RunStatus.ANSWERED or page_of_run(run.id)):
        card = ended_card(run.id, agent=bot.agent_key, told=status)
        message["attachments"] = with_card(card, summary="")["attachments"]
    return message


def _opened_answer(run: Run | None) -> str | None:
    """The kept answer (CR-08). Raises where it cannot be opened now: then it is tried again."""
    if run is None:
        return None
    told = answer_of(run)
    if told.get("answer_missing"):
        raise AnswerSealed(told["answer_missing"], run_id=run.id)
    answer: str | None = told["answer"]
    return answer


class AnswerSealed(LiyagentError):
    """The answer cannot be opened here and now."""

    code = "teams.answer_sealed"


def _approval(delivery: Delivery, _turn: TeamsTurn, place: Place, mark: Mark) -> Sent:
    approval = Approval.objects.filter(id=delivery.address["approval"]).first()
    if approval is None or approval.status != ApprovalStatus.PENDING:
        # Settled before anybody was asked here.
        return Sent()
    asked = f"{approval.agent_key} asks before it calls {approval.name}"
    return post(place, with_card(request_card(approval, _arguments(approval)), summary=asked), mark=mark)  # fmt: skip


def _settled(delivery: Delivery, _turn: TeamsTurn, place: Place, mark: Mark) -> Sent:
    card = Delivery.objects.filter(run_id=delivery.run_id, kind=APPROVAL, number=delivery.number)
    posted = card.values_list("vendor_id", flat=True).first()
    approval = Approval.objects.filter(id=delivery.address["approval"]).first()
    if not posted or approval is None:
        # There is no card to bring up to date.
        return Sent()
    told = f"{approval.name} is {approval.status}"
    return update(place, posted, with_card(settled_card(approval), summary=told), mark=mark)


def _arguments(approval: Approval) -> dict[str, Any] | None:
    try:
        return arguments_of(approval)
    except LiyagentError:
        return None


def _message(text: str, turn: TeamsTurn) -> dict[str, Any]:
    return {"type": "message", "text": text, "textFormat": "markdown", "replyToId": turn.activity}


def _keep(turn: TeamsTurn, reply: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute(KEEP, [reply, turn.run_id])


SENDERS_BY_KIND: dict[str, Callable[[Delivery, TeamsTurn, Place, Mark], Sent]] = {
    PLACEHOLDER: _placeholder,
    ANSWER: _answer,
    APPROVAL: _approval,
    SETTLED: _settled,
}
