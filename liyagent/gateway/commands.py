"""The commands that servers by stdio are started with: registered by name in a file, never text in a row (ruling 35).

commands:
  git:
    command: uvx
    args: [mcp-server-git]
    env: [GIT_TOKEN]
    cwd: /srv/repositories

`env` names the variables that are passed on. All else of our environment is withheld but `PASSED_ON`.
"""

from __future__ import annotations

import os
import re
import shutil
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from django.conf import settings

from liyagent.core.environment import OUR_OWN, is_secret_name, read_secret
from liyagent.core.errors import BadInput, BadSetting
from liyagent.core.files import parse_yaml, read_text

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,79}")
PASSED_ON = ("PATH", "HOME", "LANG")
MOST_COMMANDS = 200
MOST_ARGS = 200
FIELDS = frozenset({"command", "args", "env", "cwd"})
NAME_WANTS = "a registered name of letters, digits, - and _, never a command line"


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    """How one server is started. `env` are names, whose values are read when it is."""

    name: str
    command: str
    args: tuple[str, ...] = ()
    env: tuple[str, ...] = ()
    cwd: str = ""

    @property
    def line(self) -> str:
        """The executable and its arguments, for a person to read."""
        return " ".join((self.command, *self.args))


def is_command_name(text: str) -> bool:
    """Whether a row may name a command so."""
    return NAME.fullmatch(text) is not None


def registered_commands() -> dict[str, Command]:
    """Return the commands of LIYAGENT_COMMANDS_FILE by name, as the process read them at its start."""
    return load_commands(settings.LIYAGENT.commands_file)


@lru_cache(maxsize=4)
def load_commands(path: Path | None) -> dict[str, Command]:
    """Return the commands that a file registers, by name; none without a file.

    Raises `BadSetting` with the file, the line or path in it, and what is wanted there.
    """
    if path is None:
        return {}
    try:
        return read_commands(parse_yaml(read_text(path)))
    except BadInput as error:
        raise BadSetting(f"LIYAGENT_COMMANDS_FILE {path}: {error}") from None


def command_named(name: str) -> Command:
    """Return the command registered as `name`. Raises `BadInput` that says which there are."""
    commands = registered_commands()
    if name not in commands:
        there = f"it registers {', '.join(commands)}" if commands else _none_registered()
        raise BadInput(f"no command {name[:80]!r} is registered in LIYAGENT_COMMANDS_FILE; {there}")
    return commands[name]


def _none_registered() -> str:
    if settings.LIYAGENT.commands_file is None:
        return "none is registered: it is not set here; it wants a file of commands, the same for the app processes and this shell"
    return "none is registered"


def environment_for(command: Command) -> dict[str, str]:
    """Return the whole environment that the command gets. Raises `BadInput` for a variable that is not set."""
    kept = {name: os.environ[name] for name in PASSED_ON if os.environ.get(name)}
    try:
        return kept | {name: read_secret(name) for name in command.env}
    except BadInput as error:
        raise BadInput(f"command {command.name}: {error}") from error


def executable_for(command: Command, environment: dict[str, str]) -> str:
    """Return the path of its executable. Raises `BadInput` where there is none."""
    found = shutil.which(command.command, path=environment.get("PATH", os.defpath))
    if found is None:
        raise BadInput(
            f"command {command.name}: there is no executable {command.command!r}; install it, or give its full path in LIYAGENT_COMMANDS_FILE"
        )
    return found


def read_commands(document: Any) -> dict[str, Command]:
    """Return what a parsed file registers. Raises `BadInput` with the path and what is wanted there."""
    if not isinstance(document, dict) or set(document) != {"commands"}:
        raise BadInput("the file: wants an object with commands, and nothing else")
    written = document["commands"]
    if not isinstance(written, dict) or len(written) > MOST_COMMANDS:
        raise BadInput(f"commands: wants an object of at most {MOST_COMMANDS} names")
    return {name: _command(name, value) for name, value in written.items()}


def _command(name: str, value: Any) -> Command:
    path = f"commands.{name[:100]}"
    if not is_command_name(name):
        raise BadInput(f"{path}: wants a name of 1 to 80 letters, digits, - and _")
    if not isinstance(value, dict):
        raise BadInput(f"{path}: wants an object with {', '.join(sorted(FIELDS))}")
    for field in value:
        if field not in FIELDS:
            raise BadInput(
                f"{path}: does not know {field[:80]!r}; it wants {', '.join(sorted(FIELDS))}"
            )
    return Command(
        name=name,
        command=_executable(value.get("command"), f"{path}.command"),
        args=_texts(value.get("args"), f"{path}.args"),
        env=tuple(
            _variable(variable, f"{path}.env[{index}]")
            for index, variable in enumerate(_texts(value.get("env"), f"{path}.env"))
        ),
        cwd=_directory(value.get("cwd"), f"{path}.cwd"),
    )


def _executable(value: Any, path: str) -> str:
    text = _text(value, path)
    if not text or text != text.strip() or ("/" in text and not text.startswith("/")):
        raise BadInput(
            f"{path}: is {text[:200]!r}; it wants the name of a program in PATH, or its full path"
        )
    return text


def _texts(value: Any, path: str) -> tuple[str, ...]:
    if value is None:
        return ()
    if not isinstance(value, list) or len(value) > MOST_ARGS:
        raise BadInput(f"{path}: wants a list of at most {MOST_ARGS} texts")
    return tuple(_text(item, f"{path}[{index}]") for index, item in enumerate(value))


def _variable(name: str, path: str) -> str:
    if not is_secret_name(name):
        raise BadInput(
            f"{path}: is {name[:100]!r}; it wants the name of an environment variable of A-Z, 0-9 and _ "
            f"that does not begin with {', '.join(OUR_OWN)}"
        )
    return name


def _directory(value: Any, path: str) -> str:
    text = "" if value is None else _text(value, path)
    if text and not text.startswith("/"):
        raise BadInput(f"{path}: is {text[:200]!r}; it wants the full path of a directory")
    return text


def _text(value: Any, path: str) -> str:
    if not isinstance(value, str) or "\0" in value:
        raise BadInput(
            f"{path}: is {str(value)[:200]!r}; it wants text (in quotes, if it is a number)"
        )
    return value
