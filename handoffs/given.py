"""What is given of a hand-off, checked: each value as it is kept, or a refusal that says where and what is wanted."""

from __future__ import annotations

import re
from typing import Any

from handoffs.content import Content, body_text, first_problem
from handoffs.errors import BadHandoff

LONGEST_NAME = 200
KIND = re.compile(r"[a-z][a-z0-9_.-]{0,39}")
# Runs alone write these.
DELEGATION, SAGA = "delegation", "saga"
OF_RUNS = frozenset({DELEGATION, SAGA})


def checked_content(*, sender: str, recipient: str, kind: str, body: Any) -> Content:
    """Return what is to be handed over, its body in canonical text. Raises `BadHandoff`."""
    return Content(
        sender=_name("from", sender),
        recipient=_name("to", recipient),
        kind=_kind(kind),
        body=checked_body(body),
    )


def checked_body(body: Any) -> str:
    """Return the canonical text of a body. Raises `BadHandoff` with the path of what is wrong."""
    if body is None:
        raise BadHandoff(path="body", why="null hands nothing over")
    problem = first_problem(body)
    if problem is not None:
        raise BadHandoff(path=problem.path, why=problem.why)
    return body_text(body)


def refuse_kinds_of_runs(kind: str) -> None:
    """Raise `BadHandoff` for a kind that runs alone write."""
    if kind in OF_RUNS:
        raise BadHandoff(path="kind", why=f"{kind} is what runs hand over themselves")


def _name(field: str, value: str) -> str:
    """A name on one line that shows all that it holds."""
    if not 1 <= len(value) <= LONGEST_NAME:
        raise BadHandoff(path=field, why=f"{len(value)} characters; it wants 1 to {LONGEST_NAME}")
    if value != value.strip() or not value.isprintable():
        why = "it wants a name such as agent:triage or ann, without a character that cannot be seen"
        raise BadHandoff(path=field, why=why)
    return value


def _kind(kind: str) -> str:
    if not KIND.fullmatch(kind):
        raise BadHandoff(
            path="kind", why="it wants a word such as question: a-z, 0-9, '_', '.' and '-'"
        )
    return kind
