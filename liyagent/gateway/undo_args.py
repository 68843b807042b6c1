"""Whether the arguments that an undo is declared with are those that its tool takes, as far as a template can tell."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

from liyagent.agents.compensations import Problem
from liyagent.core.templates import EXPRESSION, readings_of
from liyagent.gateway.misfit import first_misfit
from liyagent.gateway.models import KeyPlaceChoice, Tool

MOST_NAMED = 20
# Of this thread's processor time, for all undos of a map: a catalogue is another's text. What is left is for the call.
MOST_SECONDS = 5.0
# Where any of these stands, what a tool takes is not told by its properties alone.
ELSEWHERE = frozenset({"$ref", "$dynamicRef", "allOf", "anyOf", "oneOf", "if", "patternProperties", "dependentSchemas"})  # fmt: skip
DEFINITIONS = ("$schema", "$id", "$defs", "definitions")


class Fitting:
    """Looks at the arguments of the undos of one map."""

    def __init__(self) -> None:
        self.until = time.thread_time() + MOST_SECONDS

    def problems(self, args: dict[str, Any], tool: Tool) -> Iterator[Problem]:
        """Yield what the tool would refuse whatever the template finds: a name, a name that lacks, a plain value."""
        schema, keyed = tool.schema, self._keyed(tool)
        if keyed and keyed in args:
            yield (keyed,), f"is where {tool} takes the step key, which is put there for it"
        if EXPRESSION in args or not isinstance(schema, dict):
            return
        known = schema.get("properties")
        known = known if isinstance(known, dict) else {}
        if self._is_closed(schema):
            takes = ", ".join(sorted(known)[:MOST_NAMED]) or "nothing"
            for name in args:
                if name not in known:
                    yield (name,), f"is no argument of {tool}, which takes {takes}"
        required = schema.get("required")
        for name in required if isinstance(required, list) else ():
            if isinstance(name, str) and name not in args and name != keyed:
                yield (), f"has no {name[:80]!r}, which {tool} wants"
        yield from self._values(args, schema, known, tool)

    def _values(
        self, args: dict[str, Any], schema: dict[str, Any], known: dict[str, Any], tool: Tool
    ) -> Iterator[Problem]:
        plain = {
            name: value
            for name, value in args.items()
            if name in known and next(readings_of(value), None) is None
        }
        if not plain or time.thread_time() > self.until:
            return
        told = {name: schema[name] for name in DEFINITIONS if name in schema}
        fault = first_misfit(plain, {**told, "type": "object", "properties": known})
        if fault is not None:
            name = next((it for it in plain if f"{fault.path}.".startswith(f"{it}.")), "")
            yield (name,) if name else (), f"does not fit {tool}: {fault.reason}"

    def _is_closed(self, schema: dict[str, Any]) -> bool:
        """Whether `properties` are all that the tool takes; one that says nothing of others is taken to mean that."""
        if ELSEWHERE & set(schema):
            return False
        others = schema.get("additionalProperties")
        return others is False or (others is None and bool(schema.get("properties")))

    def _keyed(self, tool: Tool) -> str:
        return tool.key_field if tool.key_place == KeyPlaceChoice.ARGUMENT else ""
