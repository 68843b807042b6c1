"""What changed in a tool since it was approved, for a person to read before approving it."""

from __future__ import annotations

import difflib
import json
from typing import Any

from liyagent.core.tables import visible
from liyagent.gateway.models import Tool

# Two texts of more lines than this are shown one after the other: matching their lines could take minutes.
MOST_MATCHED = 4000


def changes_of(tool: Tool) -> str:
    """Return a unified diff of the description and of the schema as sorted JSON, from what was approved to now.

    All of both where nothing was approved yet. Characters that a screen hides or acts on are written out;
    "" where nothing changed.
    """
    before = tool.approved if isinstance(tool.approved, dict) else {}
    parts = (
        ("description", _lines(before.get("description", "")), _lines(tool.description)),
        ("schema", _json_lines(before.get("schema")), _json_lines(tool.schema)),
    )
    return "\n".join(line for part in parts for line in _diff(*part))


def heading_of(tool: Tool) -> str:
    """Say in one line what `changes_of` compares."""
    if tool.is_approved and tool.fingerprint:
        return f"{tool}: as it was approved"
    if not tool.approved_fingerprint:
        return f"{tool}: never approved; all of it is shown"
    if not isinstance(tool.approved, dict):
        return f"{tool}: what was approved before is not kept; all of it is shown"
    return f"{tool}: changed since it was approved"


def _diff(name: str, before: list[str], now: list[str]) -> list[str]:
    if before == now:
        return []
    if max(len(before), len(now)) > MOST_MATCHED:
        lines = [f"--- {name} approved", f"+++ {name} now"]
        lines += [f"-{line}" for line in before] + [f"+{line}" for line in now]
    else:
        lines = list(
            difflib.unified_diff(before, now, f"{name} approved", f"{name} now", lineterm="")
        )
    return [visible(line) for line in lines]


def _lines(text: str) -> list[str]:
    """Lines as a line feed ends them: any other character that ends one is shown in its line."""
    return text.split("\n") if text else []


def _json_lines(schema: Any) -> list[str]:
    if not schema:
        return []
    return json.dumps(schema, indent=2, sort_keys=True, ensure_ascii=False).split("\n")
