"""Whether the schema of an input can be held against whatever is sent to start a run: in bounded time, fetching nothing. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import unquote

from jsonschema import Draft202012Validator
from jsonschema.exceptions import SchemaError

from liyagent.workflows.told import Problem, at, path_of, shown

REFERENCES = frozenset({"$ref", "$dynamicRef"})
# A match cannot be interrupted, and whoever starts a run says on what it is run.
REGEXES = frozenset({"pattern", "patternProperties"})
# What is held against the same value as the schema that it stands in.
AT_ONCE = ("allOf", "anyOf", "oneOf", "not", "if", "then", "else")
# So many schemas are held against one value of an input at most, those that references lead to included.
MOST_AT_ONCE = 200
PLACE = re.compile(r"0|[1-9][0-9]{0,5}")


def input_problems(schema: Mapping[str, Any]) -> Iterator[Problem]:
    """Yield what is wrong with a definition's `input`, by the path in the definition."""
    try:
        Draft202012Validator.check_schema(schema)
    except SchemaError as error:
        place = path_of(error, "$.input")
        yield place, f"is {shown(error.instance)}, and makes the input no JSON Schema: {error.message[-200:]}"  # fmt: skip
        return
    except RecursionError:
        yield "$.input", "is no JSON Schema that can be used: nested too deeply"
        return
    found = [*_parts(schema, "$.input", schema)]
    yield from found
    if not found:
        yield from _costs(schema, "$.input", schema)


def _parts(schema: Any, path: str, whole: Any) -> Iterator[Problem]:
    if isinstance(schema, Mapping):
        for name, item in schema.items():
            here = at(path, name)
            if name == "$id" and isinstance(item, str):
                yield here, "is not taken: the schema of an input has no address"
            elif name in REGEXES and isinstance(item, str if name == "pattern" else Mapping):
                yield (
                    here,
                    "is not taken: a regular expression would be run on whatever is sent; name the values by enum, or let a step look",
                )
            elif name in REFERENCES and isinstance(item, str):
                if _target(item, whole) is None:
                    yield here, f"is {shown(item)}; it wants a place in this schema, such as '#/$defs/host'"  # fmt: skip
            else:
                yield from _parts(item, here, whole)
    elif isinstance(schema, list):
        for number, item in enumerate(schema):
            yield from _parts(item, at(path, number), whole)


def _costs(schema: Any, path: str, whole: Any) -> Iterator[Problem]:
    """A reference that leads back to its own value would never end, and two to two to two would take for ever."""
    if isinstance(schema, Mapping):
        if any(isinstance(schema.get(name), str) for name in REFERENCES) and _at_once(schema, whole) > MOST_AT_ONCE:  # fmt: skip
            yield path, f"leads to itself, or to more than {MOST_AT_ONCE} schemas for one value"
            return
        for name, item in schema.items():
            yield from _costs(item, at(path, name), whole)
    elif isinstance(schema, list):
        for number, item in enumerate(schema):
            yield from _costs(item, at(path, number), whole)


def _at_once(schema: Any, whole: Any) -> int:
    """How many schemas are held against one value because of this one; counted no further than needed."""
    count, waiting = 0, [schema]
    while waiting and count <= MOST_AT_ONCE:
        it = waiting.pop()
        if not isinstance(it, Mapping):
            continue
        count += 1
        waiting += [
            _target(it[name], whole) for name in REFERENCES if isinstance(it.get(name), str)
        ]
        for name in AT_ONCE:
            inner = it.get(name)
            waiting += inner if isinstance(inner, list) else [inner]
    return count


def _target(reference: str, whole: Any) -> Any:
    """What a JSON pointer within the document leads to, None where that is no schema."""
    if not reference.startswith("#/"):
        return whole if reference == "#" else None
    found = whole
    for part in reference[2:].split("/"):
        name = unquote(part).replace("~1", "/").replace("~0", "~")
        if isinstance(found, Mapping) and name in found:
            found = found[name]
        elif isinstance(found, list) and PLACE.fullmatch(name) and int(name) < len(found):
            found = found[int(name)]
        else:
            return None
    return found if isinstance(found, Mapping | bool) else None
