"""Words of events as a page shows them: nothing in them is obeyed, hidden or taken for what it is not."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from liyagent.core.tables import visible


def shown_words(value: Any) -> str:
    """Return words as a page shows them: what is invisible written out, what was cut or not kept said."""
    if isinstance(value, Mapping) and set(value) == {"sha256", "bytes"}:
        return f"(not kept: {value['bytes']} bytes; what stands here is their digest alone)"
    if isinstance(value, Mapping) and set(value) == {"cut", "of"}:
        cut = visible(str(value["cut"]))
        return f"{cut}\n(cut: the first {len(str(value['cut']))} of {value['of']} characters)"
    if isinstance(value, str):
        return visible(value)
    return "" if value is None else visible(json.dumps(value, indent=1, ensure_ascii=False))
