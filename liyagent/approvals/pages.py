"""What the page of one request tells: what would be done, exactly, to what, and what stands around it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.conf import settings
from django.utils.html import format_html
from django.utils.safestring import SafeString

from liyagent.approvals.errors import NotAsFiled
from liyagent.approvals.handlers import SAGA
from liyagent.approvals.models import Approval, ApprovalStatus
from liyagent.approvals.saying import saying_of
from liyagent.approvals.shown import (
    LINES_A_PAGE,
    Line,
    lines_of,
    marked,
    part_of,
    raw_json,
    shortened,
    shown_path,
    warnings_of,
)
from liyagent.approvals.words import arguments_of
from liyagent.core.moments import age, shown_now, span_in_words
from liyagent.core.pills import BAD, GOOD, QUIET, WARN, pill
from liyagent.core.seal import KeyMissing, SealBroken
from liyagent.core.tables import cell

MOST_OTHERS = 20
LONGEST_RAW = 6_000
LONGEST_REASON_SHOWN = 2_000
# Less than this before its end, a request is shown as urgent.
SOON_SECONDS = 3_600

KINDS = {
    ApprovalStatus.PENDING: WARN,
    ApprovalStatus.APPROVED: WARN,
    ApprovalStatus.CONSUMED: GOOD,
    ApprovalStatus.REJECTED: BAD,
    ApprovalStatus.STALE: WARN,
}
STATES: Mapping[str, str] = {
    ApprovalStatus.PENDING: "waits for a person",
    ApprovalStatus.APPROVED: "approved, the call is not made yet",
    ApprovalStatus.CONSUMED: "approved, and the call was sent",
    ApprovalStatus.REJECTED: "rejected",
    ApprovalStatus.EXPIRED: "expired: nobody decided in time",
    ApprovalStatus.WITHDRAWN: "withdrawn",
    ApprovalStatus.STALE: "stale: approved, but not made",
}
# Above the arguments.
HEADINGS: Mapping[str, str] = {
    ApprovalStatus.PENDING: "Exactly what would be sent",
    ApprovalStatus.APPROVED: "Exactly what is to be sent",
    ApprovalStatus.CONSUMED: "Exactly what was sent",
}
NOT_SENT = "Exactly what was asked for, and not sent"
GATES: Mapping[str, str] = {
    "write_posture": "the agent's writes are held",
    "contract_change": "the tool is not what an operator approved",
    "same_intent": "the same write was sent before, and nobody knows whether it took effect",
    "workflow": "a step of a workflow asks a person",
    "saga": "its run failed, and a person decides what becomes of it",
    "routine": "a pattern of runs would become a workflow",
}
# What these say is the same of each call.
TELL_NO_MORE = frozenset({"write_posture", "contract_change", "workflow"})
NO_KEY = (
    "The key that its arguments are sealed with ({key}) is not on the ring of this process. Put it back into LIYAGENT_SEAL_KEYS "
    "and open this page again. Until then it can only be withdrawn, for nobody can see what it is about."
)
BROKEN = (
    "The sealed copy of its arguments does not verify: it was changed, or is another request's. It can only be withdrawn. "
    "Treat the database as tampered with."
)
OTHER = (
    "What is stored of this request is not what was filed: {what}. It can only be withdrawn. "
    "Treat the database as tampered with."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Opened:
    """The arguments that a decision is about. None where they cannot be trusted; `why` says so in words."""

    args: dict[str, Any] | None
    why: str = ""


def opened(approval: Approval) -> Opened:
    """Open the sealed copy, and hold it and the row against the digest that a decision is bound to (ruling 23)."""
    try:
        return Opened(args=arguments_of(approval))
    except KeyMissing:
        return Opened(args=None, why=NO_KEY.format(key=cell(approval.key_id)))
    except SealBroken:
        return Opened(args=None, why=BROKEN)
    except NotAsFiled as error:
        return Opened(args=None, why=OTHER.format(what=error.detail or error.title))


def state_of(approval: Approval) -> SafeString:
    """Return where a request stands, in words."""
    status = ApprovalStatus(approval.status)
    words = saying_of(approval).states.get(status, STATES[status])
    return pill(words, KINDS.get(status, QUIET))


def expiry_of(approval: Approval) -> SafeString:
    """Say how long a request that is open can still be decided about, and until when exactly."""
    if approval.kind == SAGA:
        return format_html("{}", "it does not run out")
    left = (approval.expires_at - shown_now()).total_seconds()
    told = pill("its time has passed", BAD) if left <= 0 else format_html("<strong>{}</strong>", f"expires in {span_in_words(left)}")  # fmt: skip
    if 0 < left < SOON_SECONDS:
        told = pill(f"expires in {span_in_words(left)}", BAD)
    return format_html(
        '{} <span class="liy-age">{}</span>', told, f"{approval.expires_at:%Y-%m-%d %H:%M:%S}Z"
    )


def is_open(approval: Approval) -> bool:
    """Whether it can be decided about."""
    is_in_time = approval.expires_at > shown_now()
    return approval.status == ApprovalStatus.PENDING and is_in_time


def asked_for_by(approval: Approval, name: str) -> bool:
    """Whether a person asked for it, or it runs as them, and may not approve it therefore."""
    is_own = name in {approval.requested_by, approval.run_as}
    return is_own and not settings.LIYAGENT.approve_own_requests


def shown_arguments(args: dict[str, Any], number: int) -> dict[str, Any]:
    """Return a page of the arguments, a line each, what in any of them is not as it looks, and the raw JSON."""
    lines = lines_of(args)
    pages = max(1, -(-len(lines) // LINES_A_PAGE))
    number = min(max(number, 1), pages)
    first = (number - 1) * LINES_A_PAGE
    shown = [_shown(line, at) for at, line in enumerate(lines[first : first + LINES_A_PAGE], first)]
    raw = raw_json(args)
    return {
        "lines": shown,
        "number": number,
        "pages": pages,
        "total": len(lines),
        "first": first + 1,
        "last": first + len(shown),
        "is_cut": pages > 1 or any(it["left_out"] for it in shown),
        "warnings": warnings_of(lines),
        "raw": raw[:LONGEST_RAW],
        "raw_total": len(raw),
        "raw_left_out": max(0, len(raw) - LONGEST_RAW),
    }


def whole_of(args: dict[str, Any], asked: str, number: int) -> dict[str, Any] | None:
    """Return a part of one value, by the number of its line, or of the `raw` JSON; None where there is no such."""
    if asked == "raw":
        return text_page("The arguments as raw JSON", raw_json(args), number)
    lines = lines_of(args)
    at = int(asked) if asked.isascii() and asked.isdigit() and len(asked) < 9 else 0
    if not 1 <= at <= len(lines):
        return None
    return text_page(f"Argument {cell(lines[at - 1].path[:200])}", lines[at - 1].text, number)


def text_page(title: str, text: str, number: int) -> dict[str, Any]:
    """Return what the page of one long text shows."""
    part, number, parts = part_of(text, number)
    return {"title": title, "text": marked(part), "number": number, "parts": parts, "total": len(text)}  # fmt: skip


def reason_of(approval: Approval) -> SafeString:
    """Return why a gate held it: in words, then what the gate said."""
    said = marked(approval.held_reason[:LONGEST_REASON_SHOWN])
    told = GATES.get(approval.gate, cell(approval.gate.replace("_", " ")))
    return format_html('<strong>{}</strong><br><span class="liy-value">{}</span>', _capital(told), said)  # fmt: skip


def ceiling_of(approval: Approval) -> list[str]:
    """Return the most that the call may use, in sentences; it is made only while this stands as it was filed."""
    ceiling = approval.ceiling if isinstance(approval.ceiling, dict) else {}
    patterns, policies = (_named(ceiling.get(it)) for it in ("patterns", "policies"))
    permission, run_as = ceiling.get("permission"), ceiling.get("run_as")
    return [
        f"The agent may use this tool by its pattern {patterns}."
        if patterns
        else "No pattern of the agent lets it in.",
        f"It runs with the rights of {cell(run_as)}." if run_as else "It runs as nobody: with no rights of a person.",
        f"It needs the permission {cell(permission)}." if permission else "The tool asks for no permission.",
        f"The Cedar policies that let it through: {policies}." if policies else "No Cedar policy was found that lets it through.",
        "If any of this is another when the call is made, it is not made: it is asked for anew.",
    ]  # fmt: skip


def same_digest(approval: Approval) -> tuple[list[Approval], bool]:
    """Return other open requests for exactly the same, oldest first, at most 20, and whether there are more."""
    rows = Approval.objects.filter(digest=approval.digest, status=ApprovalStatus.PENDING)
    others = rows.exclude(id=approval.id).defer("sealed", "ceiling").order_by("created_at", "id")
    found = list(others[: MOST_OTHERS + 1])
    return found[:MOST_OTHERS], len(found) > MOST_OTHERS


def waited(approval: Approval) -> str:
    """Return how long a request has waited, or when it was filed."""
    return age(approval.created_at, shown_now())


def _shown(line: Line, at: int) -> dict[str, Any]:
    value, left_out = shortened(line.text)
    return {
        "number": at + 1,
        "path": shown_path(line.path),
        "kind": line.kind,
        "is_text": isinstance(line.value, str),
        "value": value,
        "left_out": left_out,
    }


def _named(names: Any) -> str:
    return ", ".join(cell(it) for it in names) if isinstance(names, list) else ""


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]
