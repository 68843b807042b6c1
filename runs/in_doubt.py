"""What a resume does with a call that its dead process left: one table, in the order it is decided in."""

from __future__ import annotations

from enum import StrEnum

UNKNOWN_TEXT = (
    "The outcome of this call is unknown: the process that made it stopped, or the server gave no answer. "
    "It may have taken effect. It was not sent again. Do not repeat it; say in your answer that a person "
    "has to check it, or go on without it."
)


class Mark(StrEnum):
    """What a mark stood for (ruling 9)."""

    SENDING = "sending"
    HELD = "held"


class Settlement(StrEnum):
    """How a call in doubt is settled: the rows of the seed's table."""

    ROUTED = "routed"
    ROUTED_TO_ITS_APPROVAL = "routed_to_its_approval"
    ASKED_BY_DELEGATION_KEY = "asked_by_delegation_key"
    SENT_WITH_SAME_KEY = "sent_with_same_key"
    READ_BACK = "read_back"
    TOLD_UNKNOWN = "told_unknown"


def counts_as_marked(*, has_failed_over: bool, is_write: bool, could_be_sent: bool) -> bool:
    """Whether a call without a mark is one whose mark may be lost (ruling 40).

    On a standby that was promoted, what the old server confirmed last may be missing: the mark, and not what it
    announced. A read is made again, and what no gate ever let out (`could_be_sent`) did not leave.
    """
    return has_failed_over and is_write and could_be_sent


def settlement_for(
    *,
    mark: Mark | None,
    gates_allow: bool,
    has_identity: bool,
    is_within_vendor_window: bool,
    is_delegation: bool,
    has_reader: bool,
) -> Settlement:
    """Decide from what was marked; today's gates can only forbid a re-send (CR-20 to CR-26).

    A read, or a write that was never marked, is routed through every gate again. A call once marked
    stays what it was marked as, however its tool is classified today.
    """
    if mark is None:
        return Settlement.ROUTED
    if mark is Mark.HELD:
        return Settlement.ROUTED_TO_ITS_APPROVAL
    if is_delegation:
        return Settlement.ASKED_BY_DELEGATION_KEY
    if gates_allow and has_identity and is_within_vendor_window:
        return Settlement.SENT_WITH_SAME_KEY
    return Settlement.READ_BACK if has_reader else Settlement.TOLD_UNKNOWN
