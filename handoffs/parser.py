"""A hand-off as it comes over HTTP: read so that what is wrong of it can be named with its path."""

from __future__ import annotations

from collections.abc import Mapping
from typing import IO, Any

from django.conf import settings
from rest_framework.parsers import BaseParser

from handoffs.content import BODY, MOST_BYTES, NamedTwice, parse
from handoffs.errors import BadHandoff


class HandoffParser(BaseParser):
    """UTF-8 JSON, kept to the letter: no character of a body is made into another, since its digest is what counts.

    What cannot be handed over is left in it for the verb to refuse, which knows the path.
    """

    media_type = "application/json"

    def parse(
        self,
        stream: IO[Any],
        media_type: str | None = None,
        parser_context: Mapping[str, Any] | None = None,
    ) -> Any:
        """Return the body as it was written. Raises `BadHandoff`."""
        limit = settings.DATA_UPLOAD_MAX_MEMORY_SIZE
        text = stream.read(limit + 1)
        if len(text) > limit:
            raise BadHandoff(path=BODY, why=f"too large; it may have {MOST_BYTES} bytes")
        try:
            value = parse(text.decode("utf-8"))
        except UnicodeDecodeError as error:
            raise BadHandoff(path=BODY, why=f"not UTF-8 at byte {error.start}") from None
        except RecursionError:
            raise BadHandoff(path=BODY, why="nested too deeply") from None
        except ValueError as error:
            raise BadHandoff(path=BODY, why=f"not JSON: {error}") from None
        return _named(value)


def _named(value: Any) -> Any:
    """Refuse what no field is: names that stand twice, or are no text that could be told of."""
    if isinstance(value, NamedTwice):
        raise BadHandoff(path=_shown(value.name), why="this name stands twice")
    for name in value if isinstance(value, dict) else ():
        if _shown(name) != name:
            raise BadHandoff(path=_shown(name), why="no field is called that")
    return value


def _shown(name: str) -> str:
    return name.encode("utf-8", "backslashreplace").decode()
