"""A button of a card, pressed: the request is decided by approvals' own verb, as the user that the Teams account is."""

from __future__ import annotations

import logging
from http import HTTPStatus
from typing import Any
from uuid import UUID

from django.contrib.auth.models import User

from liyagent.access.permissions import DECIDE
from liyagent.approvals.decide import decide
from liyagent.approvals.models import Approval, ApprovalStatus
from liyagent.audit.record import record
from liyagent.core.errors import LiyagentError
from liyagent.core.plain import clean_text
from liyagent.entry.models import Delivery
from liyagent.entry.teams.activity import Activity, base_of
from liyagent.entry.teams.cards import APPROVE, CARD, REJECT, settled_card
from liyagent.entry.teams.connector import LONGEST_ID
from liyagent.entry.teams.deliver import APPROVAL
from liyagent.entry.teams.errors import ActivityMisshapen, InvokeUnknown
from liyagent.entry.teams.models import TeamsBot, TeamsPerson, TeamsTurn

logger = logging.getLogger(__name__)

CARD_ACTION = "adaptiveCard/action"
VERBS = {APPROVE: ApprovalStatus.APPROVED, REJECT: ApprovalStatus.REJECTED}
MESSAGE = "application/vnd.microsoft.activity.message"
NOT_KNOWN = "Your Teams account is not known here, so you cannot decide. Whoever runs Liyagent can say who you are."
NOT_ALLOWED = "You may not decide about this."
NOT_HERE = "There is no such request in this conversation."
NO_REASON = "decided in Teams"


def answer_invoke(activity: Activity, *, bot: TeamsBot) -> dict[str, Any]:
    """Decide as a button says, and return what Teams shows for it: the settled card, or why nothing was decided.

    The same button again, under whatever id, meets the request's once-only rule and is answered with the card as it is
    settled (FL-72). Raises `InvokeUnknown`, `ActivityMisshapen`.
    """
    if activity.raw.get("name") != CARD_ACTION:
        raise InvokeUnknown(f"name wants {CARD_ACTION}: this bot has only cards to decide by")
    verb, data = _pressed(activity)
    approval = _meant(activity, bot, data)
    if approval is None:
        return _refuse(activity, bot, NOT_HERE)
    _note_card(activity, approval)
    username = _decider(activity)
    if username is None:
        return _refuse(activity, bot, NOT_KNOWN, approval)
    if not username:
        return _refuse(activity, bot, NOT_ALLOWED, approval)
    if approval.status != ApprovalStatus.PENDING:
        return _card(approval)
    return _decided(approval, VERBS[verb], username, data)


def _decided(
    approval: Approval, status: ApprovalStatus, username: str, data: dict[str, Any]
) -> dict[str, Any]:
    reason = clean_text(str(data.get("reason") or "")).strip() or NO_REASON
    try:
        settled = decide(
            approval_id=approval.id,
            status=status,
            actor=username,
            reason=" ".join(reason.split()),
            digest=str(data.get("digest", "")),
        )
    except LiyagentError as error:
        approval.refresh_from_db()
        if approval.status == ApprovalStatus.PENDING:
            return _said(error.detail or error.title)
        return _card(approval)
    return _card(settled)


def _pressed(activity: Activity) -> tuple[str, dict[str, Any]]:
    value = activity.raw.get("value")
    action = value.get("action") if isinstance(value, dict) else None
    if not isinstance(action, dict) or not isinstance(action.get("data"), dict):
        raise ActivityMisshapen("value.action wants an action with data, as our cards have them")
    verb = action.get("verb")
    if not isinstance(verb, str) or verb not in VERBS:
        raise ActivityMisshapen(f"value.action.verb wants one of {', '.join(VERBS)}")
    return verb, action["data"]


def _meant(activity: Activity, bot: TeamsBot, data: dict[str, Any]) -> Approval | None:
    """The request that is meant, where it was asked for in this conversation with this bot."""
    try:
        approval_id = UUID(str(data.get("approval", "")))
    except ValueError:
        raise ActivityMisshapen("value.action.data.approval wants the id of a request") from None
    approval = Approval.objects.filter(id=approval_id).first()
    if approval is None:
        return None
    turn = TeamsTurn.objects.filter(run_id=approval.correlation_id, bot_key=bot.key).first()
    if turn is None or base_of(turn.conversation) != base_of(activity.conversation):
        return None
    return approval


def _note_card(activity: Activity, approval: Approval) -> None:
    """Keep which card was pressed, where the answer to its post was lost: it is brought up to date like any."""
    card = activity.raw.get("replyToId")
    if isinstance(card, str) and 0 < len(card) <= LONGEST_ID and card.isprintable():
        Delivery.objects.filter(
            run_id=approval.correlation_id,
            kind=APPROVAL,
            address__approval=str(approval.id),
            vendor_id="",
        ).update(vendor_id=card)


def _decider(activity: Activity) -> str | None:
    """The user behind the account: None where it is not known, empty where the user may not decide."""
    person = TeamsPerson.objects.filter(aad_object_id=activity.person).first()
    if person is None or not activity.person:
        return None
    user = User.objects.filter(username=person.username, is_active=True).first()
    return person.username if user is not None and user.has_perm(DECIDE) else ""


def _refuse(
    activity: Activity, bot: TeamsBot, told: str, approval: Approval | None = None
) -> dict[str, Any]:
    record(
        "teams.decision_refused",
        actor=f"teams:{activity.person}"[:150],
        mission=approval.mission if approval else "",
        correlation_id=approval.correlation_id if approval else None,
        run_id=approval.run_id if approval else None,
        detail={
            "bot": bot.key,
            "approval": str(approval.id) if approval else None,
            "reason": told,
        },
    )
    return _said(told)


def _card(approval: Approval) -> dict[str, Any]:
    return {"statusCode": HTTPStatus.OK, "type": CARD, "value": settled_card(approval)}


def _said(told: str) -> dict[str, Any]:
    return {"statusCode": HTTPStatus.OK, "type": MESSAGE, "value": told}
