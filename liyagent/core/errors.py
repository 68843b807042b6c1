"""Errors with a code: the docstring of the class is the message a client reads."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from http import HTTPStatus
from inspect import cleandoc


class LiyagentError(Exception):
    """The request could not be carried out."""

    code = "liyagent.error"
    http_status: int = HTTPStatus.BAD_REQUEST
    # What is wrong field by field, as {"field": dotted path, "detail": why}.
    errors: Sequence[Mapping[str, str]] = ()

    def __init__(self, detail: str = "", **facts: object) -> None:
        """Keep `detail` (one sentence for the reader) and `facts` (ids for the log)."""
        self.detail = detail
        self.facts = facts
        super().__init__(detail or self.title)

    @property
    def title(self) -> str:
        """First line of the class's docstring."""
        return cleandoc(self.__doc__ or "").splitlines()[0]

    def __str__(self) -> str:
        """One line: what was wrong, and the ids it was about."""
        about = ", ".join(f"{name}={value}" for name, value in self.facts.items())
        return f"{self.detail or self.title}{f' ({about})' if about else ''}"


class BadSetting(LiyagentError):
    """A setting is missing or has a value that cannot be used."""

    code = "setting.bad"
    http_status = HTTPStatus.INTERNAL_SERVER_ERROR


class BadInput(LiyagentError):
    """What was given cannot be used."""

    code = "input.bad"


class NotFound(LiyagentError):
    """No such thing, or not for you."""

    code = "not_found"
    http_status = HTTPStatus.NOT_FOUND


class Conflict(LiyagentError):
    """The thing is no longer in the state this needs."""

    code = "conflict"
    http_status = HTTPStatus.CONFLICT
