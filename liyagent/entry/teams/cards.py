"""Adaptive Cards: a request with all that is decided about, the same once it is settled, how a turn ended."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from liyagent.approvals.models import Approval, ApprovalStatus
from liyagent.approvals.reason import LONGEST_REASON
from liyagent.approvals.refusals import decision_of
from liyagent.approvals.shown import lines_of, warnings_of
from liyagent.core.tables import cell, visible
from liyagent.entry.teams.words import page_of_request, page_of_run

CARD = "application/vnd.microsoft.card.adaptive"
APPROVE, REJECT = "approve", "reject"
# What is decided about is shown whole, or is not decided here.
MOST_LINES, MOST_CHARACTERS = 60, 6_000

Block = dict[str, Any]


def request_card(approval: Approval, args: dict[str, Any] | None) -> Block:
    """Return the card of a request that waits: the exact call, and buttons to decide about it.

    Where its arguments cannot be opened, or are too long to be shown whole, it is decided in the console alone.
    """
    body = [_title(f"{approval.agent_key} asks before it calls {approval.name}"), *_facts(approval)]
    if args is None:
        body.append(_line("Its arguments", "cannot be opened; nobody can decide about it here"))
        return _card(body, _open(approval))
    lines = [(it.path, it.text) for it in lines_of(args)]
    if len(lines) > MOST_LINES or sum(len(p) + len(t) for p, t in lines) > MOST_CHARACTERS:
        body.append(_line("Its arguments", "are too long to be shown here; decide in the console"))
        return _card(body, _open(approval))
    body += [_line(path, text, is_mono=True) for path, text in lines]
    body += [_line("Look closely", it) for it in warnings_of(lines_of(args))]
    body.append({"type": "Input.Text", "id": "reason", "placeholder": "Why (optional)", "maxLength": LONGEST_REASON})  # fmt: skip
    return _card(body, [_button(approval, APPROVE), _button(approval, REJECT), *_open(approval)])


def settled_card(approval: Approval) -> Block:
    """Return the card of a request that is settled: what became of it, and by whom; nothing to press."""
    body = [_title(f"{approval.name} of {approval.agent_key}: {said_of(approval)}")]
    body += _facts(approval)
    if approval.decided_by:
        body.append(_line("Decided by", approval.decided_by))
        body.append(_line("Because", approval.decision_reason))
    return _card(body, _open(approval))


def said_of(approval: Approval) -> str:
    """Return in a word what became of a request."""
    decision = decision_of(approval)
    if decision is ApprovalStatus.APPROVED and approval.status == ApprovalStatus.STALE:
        return "approved, and stale since"
    return (decision or ApprovalStatus(approval.status)).label.lower()


def ended_card(run_id: UUID, *, agent: str, told: str) -> Block:
    """Return the card of how a turn ended, with a button to its run where people can reach it."""
    page = page_of_run(run_id)
    actions = [{"type": "Action.OpenUrl", "title": "Open the run", "url": page}] if page else []
    return _card([_line("Agent", agent), _line("Ended as", told), _line("Run", str(run_id))], actions)  # fmt: skip


def with_card(card: Block, *, summary: str) -> Block:
    """Return a message that is a card; `summary` is what a notification shows of it."""
    attachment = {"contentType": CARD, "content": card}
    return {"type": "message", "summary": summary, "attachments": [attachment]}


def _facts(approval: Approval) -> list[Block]:
    told = [
        ("Call", approval.name),
        ("With the rights of", approval.run_as or "nobody"),
        ("Held because", approval.held_reason[:LONGEST_REASON]),
        ("Run", str(approval.run_id)),
        ("Decide until", f"{approval.expires_at:%Y-%m-%d %H:%M} UTC"),
    ]
    return [_line(name, text) for name, text in told]


def _title(text: str) -> Block:
    return {"type": "RichTextBlock", "inlines": [_run(cell(text), weight="bolder", size="medium")]}


def _line(name: str, text: str, *, is_mono: bool = False) -> Block:
    """One fact. Text runs know no markup: whatever a call holds is read as it is."""
    shown = visible(text) if is_mono else cell(text)
    inlines = [_run(f"{cell(name)}: ", weight="bolder"), _run(shown or "-", **({"fontType": "monospace"} if is_mono else {}))]  # fmt: skip
    return {"type": "RichTextBlock", "inlines": inlines}


def _run(text: str, **looks: str) -> Block:
    return {"type": "TextRun", "text": text, **looks}


def _button(approval: Approval, verb: str) -> Block:
    return {
        "type": "Action.Execute",
        "title": verb.capitalize(),
        "verb": verb,
        "style": "positive" if verb == APPROVE else "destructive",
        "data": {"approval": str(approval.id), "digest": approval.digest},
    }


def _open(approval: Approval) -> list[Block]:
    page = page_of_request(approval.id)
    return [{"type": "Action.OpenUrl", "title": "Open it", "url": page}] if page else []


def _card(body: list[Block], actions: list[Block]) -> Block:
    return {
        "type": "AdaptiveCard",
        "$schema": "http://adaptivecards.io/schemas/adaptive-card.json",
        "version": "1.4",
        "body": body,
        "actions": actions,
    }
