"""Cedar policy sets: checked when saved, parsed once, named by their own ids, fingerprinted by their text."""

from __future__ import annotations

import hashlib
import json
import re
from collections import defaultdict, deque
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import cedarpy

from liyagent.core.errors import BadInput
from liyagent.gateway.data_rules import DataRule

SCHEMA = (Path(__file__).parent / "calls.cedarschema").read_text()
ARGUMENT_TYPES = ("String", "Set<String>", "Bool")
TOKEN = re.compile(r'"(?:\\.|[^"\\])*"|//[^\n]*|;|[^";/]+|.', re.DOTALL)

# The parser recurses: at some hundred levels it takes the whole process down, and nothing can catch that.
MOST_NESTED = 100
LONGEST_POLICY = 16_000
LONGEST_TEXT = 512_000
# What types arguments have is found by trying each with the policies that speak of it, in characters.
MOST_TRIED = 1_000_000
TRIED_AT_LEAST = 600

ArgumentPath = tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicySet:
    """A parsed policy set. `fingerprint` is the SHA-256 of its text; an empty set denies everything.

    `like_letters` counts the letters of all its `like` patterns: the evaluator holds each against a text letter by
    letter. `fault` says why a stored text could not be read; "" where it could. `data` are the data policies
    in force beside it.
    """

    text: str
    fingerprint: str
    cedar: cedarpy.PolicySet
    like_letters: int = 0
    fault: str = ""
    data: tuple[DataRule, ...] = ()

    @property
    def is_empty(self) -> bool:
        """Whether there is no policy at all."""
        return len(self.cedar) == 0


def parse_policies(text: str) -> PolicySet:
    """Return `text` parsed, its policies named by their `@id`. Raises `BadInput` with the line."""
    policies = _by_id(text)
    named = {"templates": {}, "staticPolicies": policies, "templateLinks": []}
    fingerprint = hashlib.sha256(text.encode()).hexdigest()
    return PolicySet(
        text=text,
        fingerprint=fingerprint,
        cedar=cedarpy.PolicySet.from_json_str(json.dumps(named)),
        like_letters=_like_letters(policies),
    )


def check_policies(text: str) -> None:
    """Check `text` as it is checked when saved: syntax, ids, and types against the published schema.

    Raises `BadInput` with the line of the policy that is wrong.
    """
    policies = _by_id(text)
    if not policies:
        raise BadInput("there is no policy in the text; with none, every call would be refused")
    schema = _schema_for(text, policies)
    faults = cedarpy.validate_policies(text, schema).errors
    if faults:
        lines = [line for line, _ in _statements(text)]
        line = lines[int(faults[0].policy_id.removeprefix("policy"))]
        raise BadInput(f"policy at line {line}: {_without_generated_id(faults[0].error)}")


def _by_id(text: str) -> dict[str, Any]:
    """Each policy in Cedar's JSON form, keyed by its id annotation."""
    found: dict[str, Any] = {}
    if len(text) > LONGEST_TEXT:
        raise BadInput(f"the text has {len(text)} characters; {LONGEST_TEXT} is the most")
    for line, statement in _statements(text):
        _check_size(line, statement)
        try:
            parsed = json.loads(cedarpy.policies_to_json_str(statement))
            # Walked once here, so that no later walk of it can fail.
            deque(_argument_paths(parsed), maxlen=0)
        except RecursionError as error:
            raise BadInput(
                f"policy at line {line}: its conditions are nested too deeply"
            ) from error
        except ValueError as error:
            raise BadInput(f"policy at line {line}: {error}") from error
        if parsed["templates"]:
            raise BadInput(
                f"policy at line {line}: templates (?principal, ?resource) are not used here"
            )
        policy = parsed["staticPolicies"]["policy0"]
        name = policy.get("annotations", {}).get("id") or ""
        if not name or name in found:
            raise BadInput(f'policy at line {line}: wants an @id("...") that no other policy has')
        found[name] = policy
    return found


def _check_size(line: int, statement: str) -> None:
    if len(statement) > LONGEST_POLICY:
        raise BadInput(
            f"policy at line {line}: has {len(statement)} characters; {LONGEST_POLICY} is the most"
        )
    depth = 0
    for token in TOKEN.finditer(statement):
        if token[0].startswith(('"', "//")):
            continue
        for letter in token[0]:
            depth += (letter in "([{") - (letter in ")]}")
            if depth > MOST_NESTED:
                raise BadInput(
                    f"policy at line {line}: brackets stand more than {MOST_NESTED} deep within each other"
                )


def _statements(text: str) -> Iterator[tuple[int, str]]:
    """Each policy's text with the line it begins on; semicolons in strings and comments end nothing."""
    start = position = 0
    for token in TOKEN.finditer(text):
        position = token.end()
        if token[0] == ";":
            yield _first_line(text, start, position), text[start:position]
            start = position
    if _code(text[start:]).strip():
        yield _first_line(text, start, position), text[start:]


def _code(text: str) -> str:
    return "".join(token[0] for token in TOKEN.finditer(text) if not token[0].startswith("//"))


def _first_line(text: str, start: int, end: int) -> int:
    """The line of the first token that is neither space nor comment."""
    for token in TOKEN.finditer(text, start, end):
        if token[0].strip() and not token[0].startswith("//"):
            blank = len(token[0]) - len(token[0].lstrip())
            return text.count("\n", 0, token.start() + blank) + 1
    return text.count("\n", 0, start) + 1


def _schema_for(text: str, policies: dict[str, Any]) -> str:
    """The published schema with the arguments that the policies speak of, each of the type that fits best.

    Raises `BadInput` where so much is spoken of so many arguments that finding out would take long.
    """
    spoken = [
        (statement, frozenset(_argument_paths(policy)))
        for (_, statement), policy in zip(_statements(text), policies.values(), strict=True)
    ]
    paths = {path for _, said in spoken for path in said}
    above = {path[:length] for path in paths for length in range(len(path))}
    leaves = sorted(paths - above)
    types = dict.fromkeys(leaves, ARGUMENT_TYPES[0])
    for leaf, statements, beside in _with_policies(leaves, spoken):
        known = {other: types[other] for other in beside}
        faults = {kind: _faults(statements, {**known, leaf: kind}) for kind in ARGUMENT_TYPES}
        types[leaf] = min(ARGUMENT_TYPES, key=faults.__getitem__)
    return _schema(types)


def _with_policies(
    leaves: list[ArgumentPath], spoken: list[tuple[str, frozenset[ArgumentPath]]]
) -> list[tuple[ArgumentPath, str, set[ArgumentPath]]]:
    """Each leaf with the text of the policies that speak of it, and the leaves that these speak of."""
    below: dict[ArgumentPath, set[ArgumentPath]] = defaultdict(set)
    for leaf in leaves:
        for length in range(1, len(leaf) + 1):
            below[leaf[:length]].add(leaf)
    of_leaf: dict[ArgumentPath, list[int]] = defaultdict(list)
    of_policy: list[set[ArgumentPath]] = []
    tried = TRIED_AT_LEAST * len(leaves)
    for number, (statement, said) in enumerate(spoken):
        of_policy.append(set().union(*(below[path] for path in said)))
        tried += len(statement) * len(of_policy[-1])
        if tried > MOST_TRIED:
            raise BadInput(
                "the policies speak of too many arguments to be checked in time; "
                "speak of fewer in one policy, or of each in fewer policies"
            )
        for leaf in of_policy[-1]:
            of_leaf[leaf].append(number)
    return [
        (
            leaf,
            "".join(spoken[number][0] for number in of_leaf[leaf]),
            set().union(*(of_policy[number] for number in of_leaf[leaf])),
        )
        for leaf in leaves
    ]


def _faults(text: str, types: dict[ArgumentPath, str]) -> int:
    return len(cedarpy.validate_policies(text, _schema(types)).errors)


def _schema(types: dict[ArgumentPath, str]) -> str:
    tree: dict[str, Any] = {}
    for path, kind in types.items():
        place = tree
        for part in path[:-1]:
            place = place.setdefault(part, {})
        place[path[-1]] = kind
    return SCHEMA.replace("ARGS", _record(tree))


def _record(tree: dict[str, Any]) -> str:
    fields = (
        f"{json.dumps(name)}?: {_record(kind) if isinstance(kind, dict) else kind}"
        for name, kind in tree.items()
    )
    return "{" + ", ".join(fields) + "}"


def _like_letters(policies: dict[str, Any]) -> int:
    letters = 0
    waiting: list[Any] = [policies]
    while waiting:
        node = waiting.pop()
        if isinstance(node, dict):
            pattern = node.get("pattern")
            letters += len(pattern) if isinstance(pattern, list) else 0
            waiting += node.values()
        elif isinstance(node, list):
            waiting += node
    return letters


def _argument_paths(node: Any) -> Iterator[ArgumentPath]:
    """Every path under `context.args` that a policy in JSON form reads or asks for."""
    if isinstance(node, dict):
        for operator, operand in node.items():
            if operator in {".", "has"} and isinstance(operand, dict):
                path = _path(operand)
                if path and path[:1] == ("args",) and len(path) > 1:
                    yield path[1:]
            yield from _argument_paths(operand)
    elif isinstance(node, list):
        for item in node:
            yield from _argument_paths(item)


def _path(operand: dict[str, Any]) -> ArgumentPath:
    """The dotted path of an access that begins at `context`, () for any other."""
    left, attribute = operand["left"], operand["attr"]
    if left == {"Var": "context"}:
        return (attribute,)
    above = _path(left["."]) if isinstance(left, dict) and "." in left else ()
    return (*above, attribute) if above else ()


def _without_generated_id(text: str) -> str:
    return re.sub(r"for policy `policy\d+`, ", "", text)
