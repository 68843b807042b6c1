"""Whether a call's arguments fit the schema its server published: answered in bounded time, whatever it published.

A catalogue is another's text. A schema in it fetches nothing, and none of its regular expressions is run: a
match cannot be interrupted, and a bad one stops every thread of the process. What is not checked here
(`pattern`, `patternProperties`, `unevaluated...`, long `uniqueItems`) the server checks itself.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from contextvars import ContextVar
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Any

import jsonschema
from jsonschema.exceptions import UnknownType
from jsonschema.validators import extend, validator_for
from jsonschema_specifications import (  # type: ignore[import-untyped]  # it has no types
    REGISTRY as SPECIFICATIONS,
)
from referencing.exceptions import Unresolvable

from liyagent.core.errors import LiyagentError
from liyagent.core.plain import json_bytes
from liyagent.gateway.quick_fit import Fits, quick_fit

LONGEST_TOLD = 400
# Of this thread's processor time, so that a busy machine changes no verdict.
MOST_SECONDS = 1.0
# Reading a schema is done once a process.
MOST_READING_SECONDS = 5.0
MOST_COMPARED = 500
MOST_READERS = 1024
UNREADABLE = "the schema of this tool cannot be read; an operator has to sync its server"
TOO_SLOW = (
    f"its arguments could not be checked against the tool's schema within {MOST_SECONDS:g} s; "
    "smaller arguments may do, else an operator has to look at the schema"
)
RUNS_REGEXES = ("pattern", "patternProperties", "unevaluatedProperties", "unevaluatedItems")
# What a schema that is none makes the library raise: a `$ref` may lead to any value at all.
NO_SCHEMA = (
    jsonschema.SchemaError,
    UnknownType,
    Unresolvable,
    RecursionError,
    AttributeError,
    TypeError,
    ValueError,
    LookupError,
    ArithmeticError,
)

Keyword = Callable[[Any, Any, Any, Any], Any]


class SchemaTooSlow(LiyagentError):
    """The time for one check is used up."""

    code = "schema.too_slow"


_until: ContextVar[float] = ContextVar("liyagent_schema_until", default=0.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Misfit:
    """What does not fit: a dotted path in the arguments, "" for the whole, and why."""

    path: str
    reason: str


def misfit(args: Any, schema: dict[str, Any]) -> str:
    """Return why `args` do not fit `schema`, or why that cannot be told; "" where they fit. Never raises."""
    found = first_misfit(args, schema)
    if found is None or found.reason in {UNREADABLE, TOO_SLOW}:
        return found.reason if found else ""
    where = f"{found.path}: " if found.path else ""
    return f"its arguments do not fit the tool: {where}{found.reason}"


def first_misfit(args: Any, schema: dict[str, Any]) -> Misfit | None:
    """Return where `args` do not fit `schema` first, or that it cannot be told; None where they fit. Never raises."""
    validator, fits = _reader(schema)
    if validator is None:
        return Misfit(path="", reason=UNREADABLE)
    if fits is not None and fits(args):
        return None
    token = _until.set(time.thread_time() + MOST_SECONDS)
    try:
        fault = next(iter(validator.iter_errors(args)), None)
        return _told(fault) if fault is not None else None
    except SchemaTooSlow:
        return Misfit(path="", reason=TOO_SLOW)
    except NO_SCHEMA:
        return Misfit(path="", reason=UNREADABLE)
    finally:
        _until.reset(token)


def _told(fault: Any) -> Misfit:
    path = ".".join(str(step) for step in fault.absolute_path)[:LONGEST_TOLD]
    return Misfit(path=path, reason=fault.message[: LONGEST_TOLD - len(path)])


Reader = tuple[Any, Fits | None]
# By the schema object itself, which stays that of its contract as long as nobody changes the catalogue: its text is
# as long as its server liked, and would else be written anew for each call.
_readers: dict[int, tuple[dict[str, Any], Reader]] = {}


def _reader(schema: dict[str, Any]) -> Reader:
    known = _readers.get(id(schema))
    if known is not None and known[0] is schema:
        return known[1]
    validator = _validator(json_bytes(schema))
    reader = (validator, quick_fit(schema) if validator is not None else None)
    if len(_readers) >= MOST_READERS:
        _readers.clear()
    _readers[id(schema)] = (schema, reader)
    return reader


@lru_cache(maxsize=1024)
def _validator(schema_text: bytes) -> Any:
    """The validator of a schema, None where it is none; what could not be read is not read again."""
    token = _until.set(time.thread_time() + MOST_READING_SECONDS)
    try:
        schema = json.loads(schema_text)
        kind = validator_for(schema, default=jsonschema.Draft202012Validator)
        bounded = _bounded(kind)
        if next(iter(bounded(kind.META_SCHEMA, registry=SPECIFICATIONS).iter_errors(schema)), None):
            return None
        # A registry of its own: the default one fetches what a `$ref` names.
        return bounded(schema, registry=SPECIFICATIONS)
    except (SchemaTooSlow, *NO_SCHEMA):
        return None
    finally:
        _until.reset(token)


@cache
def _bounded(kind: Any) -> Any:
    """The same dialect, but every keyword looks at the time, and none runs a regular expression."""
    keywords = {name: _timed(keyword) for name, keyword in kind.VALIDATORS.items()}
    keywords |= dict.fromkeys(RUNS_REGEXES, _not_checked)
    keywords["uniqueItems"] = _timed(_if_short(kind.VALIDATORS.get("uniqueItems", _not_checked)))
    keywords["additionalProperties"] = _timed(
        _if_no_patterns(kind.VALIDATORS["additionalProperties"])
    )
    return extend(kind, validators=keywords)  # type: ignore[no-untyped-call]


def _timed(keyword: Keyword) -> Keyword:
    def timed(validator: Any, value: Any, instance: Any, schema: Any) -> Any:
        if time.thread_time() > _until.get():
            raise SchemaTooSlow
        return keyword(validator, value, instance, schema)

    return timed


def _if_short(keyword: Keyword) -> Keyword:
    """Items that cannot be sorted are compared each with each."""

    def if_short(validator: Any, value: Any, instance: Any, schema: Any) -> Any:
        is_long = isinstance(instance, list) and len(instance) > MOST_COMPARED
        return () if is_long else keyword(validator, value, instance, schema)

    return if_short


def _if_no_patterns(keyword: Keyword) -> Keyword:
    """Which properties are additional is said by expressions that are not run."""

    def if_no_patterns(validator: Any, value: Any, instance: Any, schema: Any) -> Any:
        return () if "patternProperties" in schema else keyword(validator, value, instance, schema)

    return if_no_patterns


def _not_checked(_validator: Any, _value: Any, _instance: Any, _schema: Any) -> Any:
    return ()
