"""What a mission's name, or a request id, may look like."""

from __future__ import annotations

import re

# Written out, because `\w` and `\d` let in letters and digits of every script.
RULE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:-]{0,127}")


def clean_mission(value: object) -> str | None:
    """Return `value` if it fits the rule as a whole, else None: dropped, never repaired (MI-01).

    1 to 128 ASCII letters, digits, `.` `_` `:` `-`, first a letter or digit. Never raises, whatever is given.
    """
    if isinstance(value, str) and RULE.fullmatch(value):
        return value
    return None
