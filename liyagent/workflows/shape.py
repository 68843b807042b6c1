"""Whether a definition has the shape of the published JSON Schema, told with what was found and what was meant. Pure."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from functools import cache
from itertools import islice
from pathlib import Path
from typing import Any

from jsonschema import Draft202012Validator
from jsonschema.exceptions import ValidationError

from liyagent.core.canonical import NotCanonical, canonical
from liyagent.workflows.input_schema import input_problems
from liyagent.workflows.told import MOST_NAMED, Problem, at, path_of, shown

SCHEMA = Path(__file__).with_name("schema.json")
# A definition is sealed into each of its runs.
MOST_BYTES = 256 << 10
MOST_IN_ALL = 1000
# As deep as work is handed down.
MOST_NESTED = 3
# So many are looked for; the rest shows once these are mended.
MOST_PROBLEMS = 200
TYPES = {
    "object": "an object",
    "array": "a list",
    "string": "text",
    "number": "a number",
    "integer": "a whole number",
    "boolean": "true or false",
}
BOUNDS = {
    "minimum": "at least {}",
    "maximum": "at most {}",
    "exclusiveMinimum": "more than {}",
    "minItems": "at least {} of them",
    "maxItems": "at most {} of them",
    "minProperties": "at least {} of them",
    "maxProperties": "at most {} of them",
    "minLength": "text of at least {} characters",
    "maxLength": "text of at most {} characters",
}
NAME_WANTS = "a letter or _, and behind it at most 63 letters, digits and _"


@cache
def published_schema() -> dict[str, Any]:
    """Return the JSON Schema of definitions."""
    return json.loads(SCHEMA.read_text())  # type: ignore[no-any-return]


def shape_problems(data: Any) -> list[Problem]:
    """Return what is wrong with the shape of plain JSON, in the order of the definition; 200 are looked for at most."""
    found = [*_bounds(data)]
    if found:
        return found
    errors = islice(_validator().iter_errors(data), MOST_PROBLEMS)
    told = [it for error in sorted(errors, key=_place) for it in _told(error)]
    if isinstance(data, Mapping) and isinstance(data.get("input"), Mapping):
        told += input_problems(data["input"])
    return [*dict.fromkeys(told)]


@cache
def _validator() -> Draft202012Validator:
    return Draft202012Validator(published_schema())


def _bounds(data: Any) -> Iterator[Problem]:
    """What would be too much to look through, or to carry."""
    try:
        size = len(canonical(data))
    except NotCanonical as error:
        yield "$", f"is no plain JSON: {error}"
        return
    if size > MOST_BYTES:
        yield "$", f"is {size} bytes long; a definition has at most {MOST_BYTES}"
        return
    steps, waiting = 0, [("$", data, 0)]
    while waiting:
        path, holder, deep = waiting.pop()
        inner = holder.get("steps") if deep == 0 and isinstance(holder, Mapping) else holder
        for number, step in enumerate(inner if isinstance(inner, list) else ()):
            steps += 1
            branches = step.get("branches") if isinstance(step, Mapping) else None
            if not isinstance(branches, Mapping):
                continue
            place = f"{path}{'.steps' if deep == 0 else ''}[{number}].branches"
            if deep >= MOST_NESTED:
                yield place, f"is parallel within parallel, {deep + 1} deep; {MOST_NESTED} are taken"  # fmt: skip
                return
            waiting += [(at(place, name), it, deep + 1) for name, it in branches.items()]
    if steps > MOST_IN_ALL:
        yield "$.steps", f"are {steps} with those of all branches; {MOST_IN_ALL} are taken"


def _place(error: ValidationError) -> list[tuple[int, int, str]]:
    return [(0, it, "") if isinstance(it, int) else (1, 0, str(it)) for it in error.absolute_path]


def _told(error: ValidationError) -> Iterator[Problem]:
    path = path_of(error)
    wants: Any = error.validator_value
    found: Any = error.instance
    if "propertyNames" in list(error.absolute_schema_path)[-3:]:
        if error.validator == "enum":
            yield at(path, found), f"is not known here; known are {', '.join(wants)}"
        else:
            yield at(path, found), f"is no name; that is {NAME_WANTS}"
    elif error.validator == "additionalProperties":
        schema: Any = error.schema
        known = schema["properties"]
        for name in islice((it for it in found if it not in known), MOST_NAMED):
            yield at(path, name), f"is not known here; known are {', '.join(known)}"
    elif error.validator == "required":
        missing = [name for name in wants if name not in found]
        yield path, f"has no {' and no '.join(map(repr, missing))}; it wants {'all of ' if len(wants) > 1 else ''}{', '.join(wants)}"  # fmt: skip
    elif error.validator == "oneOf":
        names = [it["required"][0] for it in wants]
        has = [name for name in names if isinstance(found, Mapping) and name in found]
        yield path, f"has {' and '.join(has) or 'none'} of {', '.join(names)}; it wants exactly one of them"  # fmt: skip
    else:
        yield path, f"is {shown(found)}; it wants {_wanted(error)}"


def _wanted(error: ValidationError) -> str:
    wants: Any = error.validator_value
    if error.validator == "type":
        types = [wants] if isinstance(wants, str) else wants
        return " or ".join(TYPES[it] for it in types)
    if error.validator == "enum":
        return f"one of {', '.join(map(str, wants))}"
    if error.validator == "pattern":
        return NAME_WANTS
    return BOUNDS[str(error.validator)].format(wants)
