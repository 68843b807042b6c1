"""The mission in a W3C baggage header (https://www.w3.org/TR/baggage/). Pure."""

from __future__ import annotations

import re
from urllib.parse import unquote_to_bytes

from missions.names import clean_mission

MEMBER = "liyagent.mission"
# The limits of the specification: what goes beyond them is read by nobody the same way, so not at all.
MOST_BYTES, MOST_MEMBERS = 8192, 64
# A value is visible ASCII without `"`, `,`, `;` and `\`, and each `%` of it begins a code.
VALUE = re.compile(r"(?:[!#$&-+\--:<-\[\]-~]|%[0-9A-Fa-f]{2})*")
BLANKS = " \t"


def mission_in_baggage(header: object) -> str:
    """Return the first member `liyagent.mission` whose value fits the rule, decoded once; empty for none (MI-01, FL-99).

    Names are told apart by case. Properties behind `;` are cut off. A plus is a plus. A member that cannot be read harms no
    other; a header of more than 8,192 bytes or 64 members is not read at all. Never raises, whatever is given.
    """
    if not isinstance(header, str) or len(header.encode(errors="replace")) > MOST_BYTES:
        return ""
    members = header.split(",")
    if len(members) > MOST_MEMBERS:
        return ""
    found = (clean_mission(_value(it)) for it in members)
    return next((it for it in found if it), "")


def _value(member: str) -> str | None:
    """The decoded value of a member, None for one of another name, or that is none."""
    name, is_one, rest = member.partition("=")
    value = rest.partition(";")[0].strip(BLANKS)
    if not is_one or name.strip(BLANKS) != MEMBER or not VALUE.fullmatch(value):
        return None
    return unquote_to_bytes(value).decode(errors="replace")
