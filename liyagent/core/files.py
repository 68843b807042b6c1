"""Files that an operator hands over: read within a bound, and YAML of them read strictly."""

from __future__ import annotations

from collections.abc import Hashable
from pathlib import Path
from typing import Any

import yaml

from liyagent.core.errors import BadInput
from liyagent.core.plain import NotStorable, to_plain

MOST_BYTES = 2 << 20

Place = tuple[str | int, ...]


def read_text(path: str | Path) -> str:
    """Return the text of a file. Raises `BadInput` where it cannot be read, is no UTF-8 or above 2 MiB."""
    try:
        with Path(path).open("rb") as file:
            content = file.read(MOST_BYTES + 1)
        text = content.decode("utf-8-sig")
    except (OSError, UnicodeDecodeError, ValueError) as error:
        raise BadInput(f"cannot be read: {error}") from error
    if len(content) > MOST_BYTES:
        raise BadInput(f"is larger than {MOST_BYTES} bytes")
    return text


def parse_yaml(text: str) -> Any:
    """Return what a YAML document says, as plain JSON (ruling 19).

    Raises `BadInput` on one line, also for a name that stands twice in one object, for an alias (a few
    lines of them can be a document of gigabytes), and for nesting beyond 100.
    """
    try:
        return to_plain(yaml.load(text, Loader=_StrictLoader))  # noqa: S506 - a SafeLoader, stricter
    except RecursionError as error:
        raise BadInput("is no YAML that can be used: nested too deeply") from error
    except (yaml.YAMLError, ValueError, NotStorable) as error:
        told = " ".join(str(error).split())
        raise BadInput(f"is no YAML that can be used: {told}") from error


def yaml_lines(text: str) -> dict[Place, int]:
    """Return the line, from 1, of each value of a document that `parse_yaml` takes, by the names that lead to it."""
    root = yaml.compose(text, Loader=_StrictLoader)
    lines: dict[Place, int] = {}
    waiting: list[tuple[Place, yaml.Node]] = [((), root)] if root is not None else []
    while waiting:
        place, node = waiting.pop()
        lines[place] = node.start_mark.line + 1
        if isinstance(node, yaml.MappingNode):
            waiting += [((*place, str(name.value)), value) for name, value in node.value]
        elif isinstance(node, yaml.SequenceNode):
            waiting += [((*place, index), item) for index, item in enumerate(node.value)]
    return lines


class _StrictLoader(yaml.SafeLoader):
    """Safe YAML without aliases and without a name that silently overwrites another."""

    def compose_node(self, parent: Any, index: Any) -> Any:
        if self.check_event(yaml.AliasEvent):
            event = self.peek_event()  # type: ignore[no-untyped-call]  # it has no types
            raise yaml.composer.ComposerError(
                None, None, "write it out: aliases (*name) are not taken", event.start_mark
            )
        return super().compose_node(parent, index)

    def construct_object(self, node: yaml.Node, deep: bool = False) -> Any:
        """Told with its line, whatever the package makes of a value that is not what its tag or looks say."""
        try:
            return super().construct_object(node, deep=deep)
        except (AttributeError, LookupError, TypeError, ValueError) as error:
            said = str(error) if isinstance(error, ValueError) else f"no value of {node.tag}"
            raise yaml.constructor.ConstructorError(None, None, said, node.start_mark) from error

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:
        if not isinstance(node, yaml.MappingNode):
            raise yaml.constructor.ConstructorError(
                None, None, "wants names with values", node.start_mark
            )
        seen: set[str] = set()
        for name, _ in node.value:
            if isinstance(name, yaml.ScalarNode):
                if name.value in seen:
                    raise yaml.constructor.ConstructorError(
                        None,
                        None,
                        f"{name.value[:80]!r} stands twice in one object",
                        name.start_mark,
                    )
                seen.add(name.value)
        return super().construct_mapping(node, deep=deep)
