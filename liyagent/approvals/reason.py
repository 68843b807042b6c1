"""Why somebody decides so: one line that shows what it holds, wherever it is shown."""

from __future__ import annotations

import unicodedata

from liyagent.approvals.errors import BadReason
from liyagent.core.plain import clean_text

LONGEST_REASON = 500
# Controls, line ends, what has no shape of its own, and all that turns the direction of text.
UNSEEN = frozenset({"Cc", "Cf", "Co", "Cs", "Zl", "Zp"})
# Without these, words of some languages are misspelt, and some signs fall apart.
JOINERS = "\u200c\u200d"


def checked_reason(text: str) -> str:
    """Return a reason as it is kept, without space around it. Raises `BadReason`."""
    reason = clean_text(text).strip()
    unseen = [it for it in reason if unicodedata.category(it) in UNSEEN and it not in JOINERS]
    if unseen:
        name = unseen[0].encode("unicode_escape").decode()
        raise BadReason(f"reason holds {name}, which cannot be seen; it wants one line of text")
    if not reason.strip(JOINERS + "\ufffd "):
        raise BadReason("reason is empty; it wants why it is decided so")
    if len(reason) > LONGEST_REASON:
        raise BadReason(f"reason has {len(reason)} characters; it wants {LONGEST_REASON} at most")
    return reason
