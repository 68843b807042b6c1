"""The command line's last word: an error that an operator can mend is one line, and never a traceback."""

from __future__ import annotations

import os
import select
import signal
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import NoReturn, TextIO

from django.core.management import CommandParser, execute_from_command_line
from django.db import Error, OperationalError

from liyagent.core.errors import LiyagentError
from liyagent.core.tables import visible

LONGEST_LINE = 1000
SERVER_ADVICE = "check DATABASE_URL and that the server runs"
# As a shell tells of what a closed pipe ended.
PIPE_CLOSED = 128 + signal.SIGPIPE
# Commands whose code 1 is an answer: what goes wrong with them ends with another.
WRONG_ENDS_WITH = {"cohort_replay": 2}
OTHER_ADVICE = "check that `manage.py migrate` was run; `--traceback` shows where it happened"


def run(arguments: Sequence[str]) -> str | int | None:
    """Carry a command out; return the one line that says what was wrong, None where nothing was.

    Where 1 is an answer of the command, the line is written here, and the code returned. Where nobody reads the output any more, as
    behind `| head`, it ends with the exit code 141 and says nothing. With `--traceback` among the arguments, what was wrong is raised.
    """
    try:
        _check_text(arguments)
        if _is_closed(sys.stdout):
            raise OutputRefused(
                "standard output is closed; send it to /dev/null if nobody reads it"
            )
        _carry_out(arguments)
    except LiyagentError as error:
        _raise_if_asked(arguments)
        return _wrong(arguments, f"{error.code}: {error}")
    except OperationalError as error:
        _raise_if_asked(arguments)
        return _wrong(arguments, f"database.refused: {error}; {SERVER_ADVICE}")
    except Error as error:
        _raise_if_asked(arguments)
        return _wrong(arguments, f"database.refused: {error}; {OTHER_ADVICE}")
    except OSError as error:
        if isinstance(error, BrokenPipeError) and _is_unread(sys.stdout):
            _throw_away_output()
            return PIPE_CLOSED
        _raise_if_asked(arguments)
        _throw_away_output()
        return _wrong(arguments, f"system.refused: {error}; `--traceback` shows where it happened")
    return None


def _carry_out(arguments: Sequence[str]) -> None:
    """What is written is written before it ends, also where a help does: what is not, is told of here."""
    with _one_line_for_wrong_usage():
        try:
            execute_from_command_line(list(arguments))
        except SystemExit:
            sys.stdout.flush()
            raise
    sys.stdout.flush()


@contextmanager
def _one_line_for_wrong_usage() -> Iterator[None]:
    """argparse would print the whole usage, up to six lines, before it says what was wrong."""
    theirs = CommandParser.error

    def refuse(parser: CommandParser, message: str) -> NoReturn:
        raise BadArgument(f"{message}; `{parser.prog} --help` shows what it takes")

    # Django has no other place for it.
    CommandParser.error = refuse  # type: ignore[assignment, method-assign]
    try:
        yield
    finally:
        CommandParser.error = theirs  # type: ignore[method-assign]


def _is_closed(stream: object) -> bool:
    """Python has no stream for a file number that was closed before it began, whatever its types say."""
    return stream is None


def _is_unread(stream: TextIO) -> bool:
    """Whether it is a pipe that nobody reads any more: a connection that broke raises the same."""
    looked = select.poll()
    looked.register(stream.fileno(), select.POLLOUT)
    return any(told & select.POLLERR for _, told in looked.poll(0))


def _throw_away_output() -> None:
    """What could not be written is not tried again while Python ends, which would end in a trace."""
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _check_text(arguments: Sequence[str]) -> None:
    """What is not UTF-8 arrives as lone surrogates, which no database takes."""
    for text in arguments:
        try:
            text.encode()
        except UnicodeEncodeError:
            shown = os.fsencode(text)[:80]
            raise BadArgument(f"{shown!r} is not UTF-8") from None


def _raise_if_asked(arguments: Sequence[str]) -> None:
    if "--traceback" in arguments:
        raise  # noqa: PLE0704 - called while an error is handled


def _wrong(arguments: Sequence[str], text: str) -> str | int:
    code = WRONG_ENDS_WITH.get(arguments[1]) if len(arguments) > 1 else None
    if code is None:
        return _line(text)
    sys.stderr.write(f"{_line(text)}\n")
    return code


def _line(text: str) -> str:
    return visible(" ".join(text.split()))[:LONGEST_LINE]


class OutputRefused(LiyagentError):
    """There is nowhere to write to."""

    code = "output.closed"


class BadArgument(LiyagentError):
    """An argument cannot be used."""

    code = "argument.bad"
