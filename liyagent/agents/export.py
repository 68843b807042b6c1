"""Agents as a document that `load` reads: loading it again changes nothing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import yaml

from liyagent.agents.definitions import definition_of
from liyagent.agents.errors import AgentUnknown
from liyagent.agents.fields import CHECKS
from liyagent.agents.models import Agent


def export_agents(keys: Sequence[str] = ()) -> str:
    """Return YAML of the agents named, or of all, each with every field. Raises `AgentUnknown`."""
    rows = Agent.objects.order_by("key")
    agents = list(rows.filter(key__in=keys) if keys else rows)
    missing = sorted(set(keys) - {it.key for it in agents})
    if missing:
        raise AgentUnknown(f"there is no agent {missing[0][:80]!r}")
    return written([definition_of(it) for it in agents])


def written(definitions: Sequence[dict[str, Any]]) -> str:
    """Return definitions as the document that `load_agents` takes."""
    document = {"agents": [{name: it[name] for name in CHECKS} for it in definitions]}
    return yaml.dump(document, Dumper=_Plain, sort_keys=False, allow_unicode=True, width=120)


class _Plain(yaml.SafeDumper):
    """Without aliases, which `load` does not take; text of several lines as a block."""

    def ignore_aliases(self, data: Any) -> bool:
        return True


def _text(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    style = "|" if "\n" in text else None
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)


_Plain.add_representer(str, _text)
