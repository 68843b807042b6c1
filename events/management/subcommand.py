"""The shape of a subcommand of `manage.py events`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from django.core.management.base import BaseCommand, CommandParser


@dataclass(frozen=True, slots=True, kw_only=True)
class Subcommand:
    """`arguments` adds its own; `carry_out` writes to the command's `stdout` and `stderr`, and raises `LiyagentError` or
    `CommandError`: one line, and a non-zero exit.
    """

    name: str
    help: str
    arguments: Callable[[CommandParser], None]
    carry_out: Callable[[BaseCommand, dict[str, Any]], None]
