"""Where something stands in JSON, as a person reads it: `$.steps[0].args["a b"]`."""

from __future__ import annotations

import json
import re

from liyagent.core.files import Place
from liyagent.core.tables import visible

LONGEST_NAME = 200
PLAIN_NAME = re.compile(r"[A-Za-z_$][A-Za-z0-9_$-]{0,79}")


def json_path(place: Place) -> str:
    """Return the JSON path of a place; a name that is no plain one stands in brackets, cut where it is very long."""
    return "$" + "".join(_step(it) for it in place)


def _step(name: str | int) -> str:
    if isinstance(name, int):
        return f"[{name}]"
    if PLAIN_NAME.fullmatch(name):
        return f".{name}"
    return f"[{visible(json.dumps(name[:LONGEST_NAME], ensure_ascii=False))}]"
