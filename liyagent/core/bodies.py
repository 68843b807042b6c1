"""What the API lets in: JSON within limits, made storable once, where it enters (ruling 19)."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Mapping
from typing import IO, Any

from django.conf import settings
from django.http import QueryDict
from rest_framework import serializers
from rest_framework.exceptions import ParseError
from rest_framework.negotiation import BaseContentNegotiation
from rest_framework.parsers import BaseParser
from rest_framework.renderers import BaseRenderer
from rest_framework.request import Request

from liyagent.core.errors import BadInput
from liyagent.core.plain import NotStorable, to_plain
from liyagent.core.problems import BodyTooLarge

START_KEY = re.compile(r"[\x21-\x7e]{1,255}")


class StrictJSONParser(BaseParser):
    """UTF-8 JSON of at most `DATA_UPLOAD_MAX_MEMORY_SIZE` bytes.

    Refuses NaN, infinities, a name that stands twice in one object, numbers beyond a float's or 4,300 digits, and nesting beyond 100. U+0000 and
    lone surrogates become U+FFFD.
    """

    media_type = "application/json"

    def parse(
        self,
        stream: IO[Any],
        media_type: str | None = None,
        parser_context: Mapping[str, Any] | None = None,
    ) -> Any:
        """Return the body as plain JSON. Raises `ParseError` (400) or `BodyTooLarge` (413)."""
        limit = settings.DATA_UPLOAD_MAX_MEMORY_SIZE
        body = stream.read(limit + 1)
        if len(body) > limit:
            raise BodyTooLarge(f"the body may have {limit} bytes")
        try:
            value = json.loads(
                body.decode("utf-8"),
                parse_constant=_no_constant,
                parse_float=_finite,
                object_pairs_hook=_once_each,
            )
            return to_plain(value)
        except UnicodeDecodeError as error:
            raise ParseError("the body is not UTF-8") from error
        except RecursionError as error:
            raise ParseError("the body is nested too deeply") from error
        except (NotStorable, ValueError) as error:
            raise ParseError(f"the body cannot be used: {error}") from error


def once_each(query: QueryDict) -> dict[str, str]:
    """Return the parameters of a query. Raises `BadInput` where one is given twice."""
    for name, values in query.lists():
        if len(values) > 1:
            raise BadInput(f"{name[:80]!r} is given {len(values)} times; it wants one value")
    return {name: str(value) for name, value in query.items()}


def start_key_of(request: Request) -> str:
    """Return the `Idempotency-Key`, empty where none is given. Raises `BadInput`."""
    key = request.headers.get("Idempotency-Key")
    if key is None:
        return ""
    if not START_KEY.fullmatch(key):
        raise BadInput("Idempotency-Key wants 1 to 255 visible ASCII characters")
    return str(key)


def _once_each(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, value in pairs:
        if name in found:
            raise ValueError(f"{name[:80]!r} stands twice in one object")
        found[name] = value
    return found


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is no JSON number")


def _finite(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise ValueError(f"the number {text[:40]} is too large")
    return value


class AlwaysJson(BaseContentNegotiation):
    """Answers in JSON whatever `Accept` says: a refusal in a form nobody can read would help nobody."""

    def select_parser(self, request: Request, parsers: Iterable[BaseParser]) -> BaseParser | None:
        """Take JSON bodies only; None answers 415."""
        media_type = (request.content_type or "").partition(";")[0].strip().lower()
        return next((it for it in parsers if it.media_type == media_type), None)

    def select_renderer(
        self, request: Request, renderers: Iterable[BaseRenderer], format_suffix: str | None = None
    ) -> tuple[BaseRenderer, str]:
        """Take the first."""
        first = next(iter(renderers))
        return first, first.media_type


class Words(serializers.CharField):
    """Text as it was given: not trimmed, and never a number or a boolean made into text."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(trim_whitespace=False, **kwargs)

    def to_internal_value(self, data: Any) -> str:
        """Return the text."""
        if not isinstance(data, str):
            self.fail("invalid")
        return super().to_internal_value(data)


class StrictSerializer(serializers.Serializer[Any]):
    """Refuses fields that it does not know, by name: a misspelt option must not be silently ignored."""

    def to_internal_value(self, data: Any) -> Any:
        """Return the checked values."""
        if isinstance(data, dict):
            known = ", ".join(self.fields)
            unknown = [name for name in data if name not in self.fields]
            if unknown:
                raise serializers.ValidationError(
                    {name: [f"unknown field; the known ones are {known}"] for name in unknown}
                )
        return super().to_internal_value(data)
