"""Arguments that plainly fit a plain schema, seen without the validator: most calls are of this kind.

Says yes or "cannot tell", never no: who cannot tell asks the validator, and that says what does not fit.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Fits = Callable[[Any], bool]

MOST_DEPTH = 8
# What a schema may say beside its type and still be plain: words for people, which bind nobody.
WORDS = frozenset({"title", "description", "default", "examples", "deprecated", "readOnly"})
SCALAR = WORDS | {"type"}
ARRAY = SCALAR | {"items"}
OBJECT = SCALAR | {"properties", "required", "additionalProperties"}
# A boolean is an integer to Python and none to JSON; an integer is a number to both.
SCALARS: dict[str, tuple[type, ...]] = {
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
    "null": (type(None),),
}


def quick_fit(schema: Any, *, depth: int = 0) -> Fits | None:
    """Return what says that a value surely fits `schema`, None where the schema says more than types and names."""
    if not isinstance(schema, dict) or depth > MOST_DEPTH:
        return None
    kind = schema.get("type")
    said = schema.keys() - ({"$schema"} if depth == 0 else set())
    if kind == "object" and said <= OBJECT:
        return _object(schema, depth)
    if kind == "array" and said <= ARRAY:
        return _array(schema, depth)
    if isinstance(kind, str) and kind in SCALARS and said <= SCALAR:
        kinds = SCALARS[kind]
        return lambda value: type(value) in kinds
    return None


def _array(schema: dict[str, Any], depth: int) -> Fits | None:
    if "items" not in schema:
        return lambda value: type(value) is list
    item = quick_fit(schema["items"], depth=depth + 1)
    if item is None:
        return None
    return lambda value: type(value) is list and all(map(item, value))


def _object(schema: dict[str, Any], depth: int) -> Fits | None:
    properties, required = schema.get("properties", {}), schema.get("required", [])
    others = schema.get("additionalProperties", True)
    if not isinstance(properties, dict) or not isinstance(required, list):
        return None
    fits = {name: quick_fit(inner, depth=depth + 1) for name, inner in properties.items()}
    known = {name: fit for name, fit in fits.items() if fit is not None}
    if len(known) < len(fits) or not isinstance(others, bool):
        return None
    if not all(isinstance(name, str) for name in required):
        return None

    def fit(value: Any) -> bool:
        if type(value) is not dict or not all(name in value for name in required):
            return False
        for name, item in value.items():
            inner = known.get(name)
            if not (others if inner is None else inner(item)):
                return False
        return True

    return fit
