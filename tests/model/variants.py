"""Which variants of the models are tried, and what is expected of each: all guards hold, one fewer breaks."""

from __future__ import annotations

from dataclasses import dataclass

from tests.model.verdict import BREAKS, HOLDS


@dataclass(frozen=True, slots=True, kw_only=True)
class Variant:
    """A model with its flags: `name` in words, `expected` is what its assertions do."""

    model: str
    name: str
    flags: tuple[str, ...] = ()
    expected: str = BREAKS

    @property
    def defines(self) -> tuple[str, ...]:
        """Its flags as spin takes them."""
        return tuple(f"-D{flag}" for flag in self.flags)


def _holds(model: str, name: str, *flags: str) -> Variant:
    return Variant(model=model, name=name, flags=flags, expected=HOLDS)


def _breaks(model: str, name: str, *flags: str) -> Variant:
    return Variant(model=model, name=name, flags=flags)


IN_FLIGHT = (
    _holds("in_flight", "all guards, a vendor that dedupes on our key", "CONTRACT=KEYED"),
    _holds("in_flight", "all guards, a vendor that stores our key", "CONTRACT=READABLE"),
    _holds("in_flight", "all guards, a vendor that does neither", "CONTRACT=BLIND"),
    _breaks("in_flight", "shows that a good end after a loss is reached", "WITNESS"),
    _breaks("in_flight", "without the mark", "WITHOUT_MARK"),
    _breaks("in_flight", "without the fence", "WITHOUT_FENCE"),
    _breaks("in_flight", "a take that does not raise the attempt", "WITHOUT_RAISE"),
    _breaks("in_flight", "a claim that is no compare-and-set", "WITHOUT_COMPARE"),
    _breaks("in_flight", "without the send deadline", "WITHOUT_DEADLINE"),
    _breaks("in_flight", "a send deadline that renewals move", "WITHOUT_OWN_DEADLINE"),
    _breaks("in_flight", "a read-back that does not wait", "WITHOUT_WAIT"),
    _breaks("in_flight", "a claim that ignores the mark's deadline", "WITHOUT_MARKS_DEADLINE"),
    _breaks(
        "in_flight",
        "a proof that clears every deadline",
        "THIRD",
        "LAST=2",
        "WITHOUT_GREATEST",
        "WITHOUT_PROVEN_ALONE",
    ),
    # Each of these two covers for the other: the row of a mark keeps what the head forgets.
    _holds(
        "in_flight", "a claim that forgets what stood there", "THIRD", "LAST=2", "WITHOUT_GREATEST"
    ),
    _holds("in_flight", "a proof that clears all marks", "THIRD", "LAST=2", "WITHOUT_PROVEN_ALONE"),
    _holds("in_flight", "all guards, a process with two threads", "THIRD", "LAST=2"),
    _breaks("in_flight", "a blind resend", "WITHOUT_SETTLEMENT"),
    _breaks(
        "in_flight", "a resend whatever the vendor's window", "CONTRACT=KEYED", "WITHOUT_WINDOW"
    ),
    _breaks(
        "in_flight",
        "a window counted from the last mark",
        "CONTRACT=KEYED",
        "WITHOUT_FIRST_MARK",
    ),
    _breaks("in_flight", "without the intent guard", "CONTRACT=BLIND", "WITHOUT_INTENT"),
    _breaks(
        "in_flight",
        "a person who says `did not` while it can still be sent",
        "CONTRACT=BLIND",
        "WITHOUT_PERSONS_WAIT",
    ),
)

RENEWAL = (
    _holds("renewal", "all guards"),
    _breaks("renewal", "shows that all of it can happen to one run", "WITNESS"),
    _breaks("renewal", "a holder without a row is not seen", "WITHOUT_MISSING_ROW"),
    _breaks("renewal", "rows without a thread are not looked for", "WITHOUT_ORPHANS"),
    _breaks("renewal", "a row without a thread is given back at once", "WITHOUT_TWICE"),
    _breaks("renewal", "no new life for a holder that is not known", "WITHOUT_NEW_LIFE"),
    _breaks("renewal", "without the fence", "WITHOUT_FENCE"),
)

LIFE_LOCK = (
    _holds("life_lock", "all guards: sessions ended, a restart or a crash"),
    _breaks("life_lock", "shows that a hint leads to a claim", "WITNESS"),
    _breaks("life_lock", "a free lock taken for a death", "WITHOUT_LEASE"),
    _breaks("life_lock", "one look at the lock", "WITHOUT_TWO_LOOKS"),
    _breaks("life_lock", "a lock that the holder no longer names", "WITHOUT_NAME"),
    _breaks("life_lock", "without the grace after an outage", "WITHOUT_GRACE"),
    _breaks("life_lock", "a grace from the server's start alone", "WITHOUT_RECONNECT"),
)

APPROVAL = (
    _holds("approval", "all guards: approve against reject and expiry"),
    _holds("approval", "all guards, a vendor that dedupes on our key", "KEYED=1"),
    _holds("approval", "all guards: approved, then withdrawn", "SECOND=withdrawn"),
    _holds("approval", "all guards: approved, withdrawn, deduped", "SECOND=withdrawn", "KEYED=1"),
    _breaks("approval", "shows that a good end after a loss is reached", "WITNESS"),
    _breaks("approval", "without the fence", "WITHOUT_FENCE"),
    _breaks("approval", "filed in one commit, marked in another", "WITHOUT_ONE_FILING"),
    _breaks("approval", "a run that goes to sleep without looking", "WITHOUT_CASE"),
    _breaks("approval", "a sub-select that decides whether to sleep", "WITHOUT_OWN_COLUMNS"),
    _breaks("approval", "a wake that only counts for a run that sleeps", "WITHOUT_WAKES_ALWAYS"),
    _breaks("approval", "`wakes` read after the approval", "WITHOUT_WAKES_BEFORE_LOOK"),
    _breaks("approval", "filed in one commit, asleep in another", "WITHOUT_SLEEP_IN_FILING"),
    _breaks("approval", "a wake that queues whatever it finds", "WITHOUT_WAITING_ALONE"),
    _breaks("approval", "decided in one commit, woken in another", "WITHOUT_ONE_DECISION"),
    _breaks("approval", "a decision that is read, then saved", "WITHOUT_CONDITION"),
    _breaks("approval", "a decision after the expiry", "WITHOUT_EXPIRY_AT_DECISION"),
    _breaks("approval", "the approval locked before the head", "WITHOUT_LOCK_ORDER"),
    _breaks("approval", "sent without a reservation", "WITHOUT_RESERVATION"),
    _breaks(
        "approval",
        "marked in one commit, consumed in another",
        "SECOND=withdrawn",
        "KEYED=1",
        "WITHOUT_ONE_RESERVATION",
    ),
    _breaks(
        "approval",
        "a reservation that trusts what was read before",
        "SECOND=withdrawn",
        "WITHOUT_CHECK_AGAIN",
    ),
    _breaks("approval", "a reservation after the expiry", "WITHOUT_EXPIRY_AT_DISPATCH"),
    _breaks("approval", "a key for each attempt", "KEYED=1", "WITHOUT_APPROVALS_KEY"),
    _breaks("approval", "a blind resend", "WITHOUT_SETTLEMENT"),
)

DELEGATION = (
    _holds("delegation", "all guards: processes die and stall", "STALLS=2"),
    _holds("delegation", "all guards: two sweepers at the child", "STALLS=1", "TWO_SWEEPS"),
    _holds("delegation", "all guards: one dies, one hands over", "STALLS=0", "DRAINS"),
    _breaks("delegation", "shows that a child fails and its parent ends well", "WITNESS"),
    _breaks("delegation", "without the fence", "WITHOUT_FENCE"),
    _breaks("delegation", "a claim that is no compare-and-set", "WITHOUT_COMPARE"),
    _breaks("delegation", "marked in one commit, child in another", "WITHOUT_ONE_START"),
    # Covered by the one commit and by asking: the constraint is the second line.
    _holds("delegation", "children that are not unique by key", "WITHOUT_UNIQUE", "STALLS=1"),
    _breaks("delegation", "a resume that does not ask by key", "WITHOUT_KEY"),
    _breaks("delegation", "a parent that goes to sleep without looking", "WITHOUT_CASE"),
    _breaks("delegation", "a wake that only counts for one that sleeps", "WITHOUT_WAKES_ALWAYS"),
    _breaks("delegation", "`wakes` read after the child", "WITHOUT_WAKES_BEFORE_LOOK"),
    _breaks("delegation", "started in one commit, asleep in another", "WITHOUT_SLEEP_IN_START"),
    _breaks("delegation", "ended in one commit, woken in another", "WITHOUT_ONE_END"),
    _breaks("delegation", "a parent that is not told of a failure", "WITHOUT_FAILURE_TOLD"),
    _breaks(
        "delegation",
        "the child locked before the parent",
        "STALLS=0",
        "DRAINS",
        "WITHOUT_LOCK_ORDER",
    ),
    _breaks("delegation", "the child's write without its mark", "WITHOUT_MARK"),
    _breaks("delegation", "the child's write blindly sent again", "WITHOUT_SETTLEMENT"),
)

VARIANTS = (*IN_FLIGHT, *RENEWAL, *LIFE_LOCK, *APPROVAL, *DELEGATION)
