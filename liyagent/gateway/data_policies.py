"""Keep data policies: from a file, or one by one.

data_policies:
  - name: no-card-numbers
    kind: card              # email, phone, iban, card or regex
    path: "*"               # a dotted path in the arguments; * is anywhere
    tools: "*"              # a pattern as agents have them
    action: deny            # or mask
  - name: staff-numbers
    kind: regex
    regex: 'EMP-[0-9]{6}'
    path: comment.body
    tools: jira/*
    action: mask
    enabled: true
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from django.db import transaction

from liyagent.audit.record import record
from liyagent.core.errors import BadInput, Conflict, NotFound
from liyagent.gateway.data_rules import read_path, read_regex
from liyagent.gateway.models import DataAction, DataKind, DataPolicy

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,99}")
LONGEST_REGEX = 500
LONGEST_TOOLS = 300
MOST_POLICIES = 500
# What a definition may say, the default of what it leaves out, and the column it sets.
DEFAULTS: Mapping[str, Any] = {
    "kind": None,
    "regex": "",
    "path": "*",
    "tools": "*",
    "action": DataAction.DENY.value,
    "enabled": True,
}
COLUMNS = {"enabled": "is_enabled"}


def load_data_policies(document: Any, *, actor: str) -> list[DataPolicy]:
    """Save every data policy that a parsed file declares, all or none; those it does not name stay as they are.

    Raises `BadInput` with the path of what is wrong.
    """
    read = read_data_policies(document)
    with transaction.atomic(durable=True):
        return [_save(name, columns, actor=actor)[0] for name, columns in read.items()]


def read_data_policies(document: Any) -> dict[str, dict[str, Any]]:
    """Return the columns of each data policy of a parsed file, by name. Raises `BadInput` with the path."""
    is_listed = isinstance(document, dict) and isinstance(document.get("data_policies"), list)
    if not is_listed or set(document) != {"data_policies"}:
        raise BadInput("the document wants `data_policies:`, a list, and nothing beside it")
    found: dict[str, dict[str, Any]] = {}
    for index, written in enumerate(document["data_policies"]):
        path = f"data_policies[{index}]"
        if not isinstance(written, dict):
            raise BadInput(f"{path} wants an object with name, kind, path, tools and action")
        name = written.get("name")
        if name in found:
            raise BadInput(f"{path}.name is {name!r}, as of a policy before; each wants its own")
        rest = {field: value for field, value in written.items() if field != "name"}
        found[check_name(name, f"{path}.name")] = read_data_policy(rest, path=f"{path}.")
    return found


def save_data_policy(
    name: str, written: Mapping[str, Any], *, actor: str
) -> tuple[DataPolicy, bool]:
    """Save a data policy by its name; what is left out has its default. Return it, and whether it is new.

    Raises `BadInput` naming the field that is wrong.
    """
    columns = read_data_policy(written)
    check_name(name, "name")
    with transaction.atomic(durable=True):
        return _save(name, columns, actor=actor)


def set_enabled(name: str, *, is_enabled: bool, actor: str) -> None:
    """Switch a data policy on or off. Raises `NotFound`, `Conflict` where it is so already."""
    verb = "enabled" if is_enabled else "disabled"
    with transaction.atomic(durable=True):
        rows = DataPolicy.objects.filter(name=name, is_enabled=not is_enabled).update(
            is_enabled=is_enabled
        )
        if rows != 1:
            find_data_policy(name)
            raise Conflict(f"data policy {name} is {verb} already")
        record(f"data_policy.{verb}", actor=actor, detail={"data_policy": name})


def remove_data_policy(name: str, *, actor: str) -> None:
    """Remove a data policy. Raises `NotFound`."""
    with transaction.atomic(durable=True):
        policy = find_data_policy(name)
        detail = {"data_policy": name, "was": _told(policy)}
        if DataPolicy.objects.filter(pk=policy.pk).delete()[0] != 1:
            raise NotFound(f"there is no data policy {name!r}")
        record("data_policy.removed", actor=actor, detail=detail)


def find_data_policy(name: str) -> DataPolicy:
    """Return a data policy. Raises `NotFound`."""
    found = DataPolicy.objects.filter(name=name).first()
    if found is None:
        raise NotFound(f"there is no data policy {name[:100]!r}")
    return found


def check_name(name: Any, path: str) -> str:
    """Return the name of a data policy. Raises `BadInput`."""
    if not isinstance(name, str) or not NAME.fullmatch(name):
        raise BadInput(f"{path} is {name!r}; it wants 1 to 100 letters, digits, '.', '_' and '-'")
    return name


def read_data_policy(written: Mapping[str, Any], *, path: str = "") -> dict[str, Any]:
    """Return the columns that a definition without its name sets. Raises `BadInput` naming what is wrong."""
    unknown = [name for name in written if name not in DEFAULTS]
    if unknown:
        raise BadInput(
            f"{path}{unknown[0]} is not known here; the known ones are {', '.join(DEFAULTS)}"
        )
    values = {**DEFAULTS, **written}
    for name, check in CHECKS.items():
        try:
            check(values[name])
        except BadInput as error:
            raise BadInput(f"{path}{name} {error}") from error
    is_regex = values["kind"] == DataKind.REGEX
    if is_regex != bool(values["regex"]):
        wants = (
            "is wanted where the kind is regex" if is_regex else "goes with the kind regex alone"
        )
        raise BadInput(f"{path}regex {wants}")
    return {COLUMNS.get(name, name): value for name, value in values.items()}


def _save(name: str, columns: dict[str, Any], *, actor: str) -> tuple[DataPolicy, bool]:
    if (
        not DataPolicy.objects.filter(name=name).exists()
        and DataPolicy.objects.count() >= MOST_POLICIES
    ):
        raise BadInput(
            f"there are {MOST_POLICIES} data policies, the most that every call is held against"
        )
    policy, is_new = DataPolicy.objects.get_or_create(
        name=name, defaults={**columns, "created_by": actor[:150]}
    )
    policy = DataPolicy.objects.select_for_update().get(pk=policy.pk)
    changed = sorted(column for column in columns if getattr(policy, column) != columns[column])
    if changed:
        for column in changed:
            setattr(policy, column, columns[column])
        policy.save(update_fields=changed)
    if changed or is_new:
        detail = {"data_policy": name, "is_new": is_new, "now": _told(policy)}
        record("data_policy.saved", actor=actor, detail=detail)
    return policy, is_new


def _told(policy: DataPolicy) -> dict[str, Any]:
    return {name: getattr(policy, COLUMNS.get(name, name)) for name in DEFAULTS}


def _one_of(known: Iterable[str]) -> Callable[[Any], None]:
    def check(value: Any) -> None:
        if value not in list(known):
            raise BadInput(f"is {value!r}; it wants one of {', '.join(known)}")

    return check


def _text(longest: int, read: Callable[[str], object] | None = None) -> Callable[[Any], None]:
    def check(value: Any) -> None:
        if not isinstance(value, str) or len(value) > longest:
            raise BadInput(f"wants text of at most {longest} characters")
        if read is not None and value:
            read(value)

    return check


def _path(value: Any) -> None:
    read_path(value if isinstance(value, str) else "")


def _tools(value: Any) -> None:
    if not isinstance(value, str) or not 1 <= len(value) <= LONGEST_TOOLS:
        raise BadInput("wants a pattern such as server/tool, server/* or *")
    if value != "*" and "/" not in value:
        raise BadInput(f"is {value!r}; it wants server/tool, server/* or *")


def _flag(value: Any) -> None:
    if not isinstance(value, bool):
        raise BadInput(f"is {value!r}; it wants true or false")


CHECKS: Mapping[str, Callable[[Any], None]] = {
    "kind": _one_of(DataKind.values),
    "regex": _text(LONGEST_REGEX, read_regex),
    "path": _path,
    "tools": _tools,
    "action": _one_of(DataAction.values),
    "enabled": _flag,
}
