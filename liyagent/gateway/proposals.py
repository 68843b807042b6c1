"""Contract lines that a vendor's documents would allow for a tool: for an operator to check and paste."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass

from liyagent.gateway.models import EffectChoice, Tool
from liyagent.gateway.vendor_facts import ReaderFact, VendorFacts, WriteFact, vendor_facts

# What a step key is long (`runs.keys`): a SHA-256 in hex.
KEY_CHARACTERS = 64
SHORT_WINDOW_SECONDS = 3600


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposal:
    """What one documented kind of write would allow. `lines`: YAML to paste, none where `but` says why not."""

    vendor: str
    write: str
    says: str
    decided: str
    uncertain: str
    sources: tuple[str, ...]
    lines: tuple[str, ...]
    but: str


def proposal_for(tool: Tool) -> tuple[Proposal, ...]:
    """Return what the facts of the vendor that the tool's server names allow; its name tells which write it is."""
    facts = vendor_facts().get(tool.server.vendor)
    if facts is None:
        return ()
    words = tool.name.lower()
    fitting = [it for it in facts.writes if all(word in words for word in it.tool)]
    return tuple(_proposal(tool, facts, it) for it in fitting)


def _proposal(tool: Tool, facts: VendorFacts, fact: WriteFact) -> Proposal:
    but = _why_not(tool, fact)
    lines = () if but else tuple(_lines(tool, fact))
    return Proposal(
        vendor=facts.name,
        write=fact.write,
        says=fact.says,
        decided=fact.decided,
        uncertain=fact.uncertain,
        sources=tuple(f"{it.url} (read {it.read})" for it in fact.sources),
        lines=lines,
        but=but,
    )


def _why_not(tool: Tool, fact: WriteFact) -> str:
    if fact.key is None:
        return "no key is documented, and nothing that finds a write by ours"
    if fact.key.longest and fact.key.longest < KEY_CHARACTERS:
        return f"{fact.key.field} holds {fact.key.longest} characters, our key has {KEY_CHARACTERS}"
    if fact.key.field not in _properties(tool):
        return f"this tool takes no {fact.key.field}: the server does not pass it on"
    return ""


def _properties(tool: Tool) -> dict[str, object]:
    found = tool.schema.get("properties") if isinstance(tool.schema, dict) else None
    return found if isinstance(found, dict) else {}


def _lines(tool: Tool, fact: WriteFact) -> Iterator[str]:
    assert fact.key is not None
    window = fact.key.window if fact.key.window >= SHORT_WINDOW_SECONDS else 0
    yield f"{json.dumps(tool.name)}:"
    yield f"  key: {{place: argument, field: {fact.key.field}, window: {window}}}"
    if fact.reader is not None:
        yield f"  reader: {_reader(tool, fact.reader)}"


def _reader(tool: Tool, fact: ReaderFact) -> str:
    """In JSON, which YAML is: where the server has no read of that name, one to be filled in."""
    reads = tool.server.tools.filter(is_offered=True, effect=EffectChoice.READ).order_by("name")
    names = reads.values_list("name", flat=True)[:200]
    name = next((it for it in names if any(word in it.lower() for word in fact.tool)), "")
    written = {
        "tool": f"{tool.server.key}/{name or 'NAME-OF-A-READ'}",
        "args": dict(fact.args),
        "match": dict(fact.match),
    }
    return json.dumps(written)
