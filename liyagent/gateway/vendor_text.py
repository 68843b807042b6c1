"""A vendor's facts as lines for a person."""

from __future__ import annotations

from collections.abc import Iterator

from liyagent.gateway.vendor_facts import NONE, KeyFact, VendorFacts, WriteFact


def facts_lines(facts: VendorFacts) -> Iterator[str]:
    """Yield what is known of one vendor, with where it was read and what is uncertain."""
    yield f"{facts.vendor}: {facts.name}"
    for write in facts.writes:
        yield from _write_lines(write)


def _write_lines(write: WriteFact) -> Iterator[str]:
    yield f"  {write.write}"
    yield f"    key        {_key(write.key)}"
    found = f"by {write.reader.match['field']}" if write.reader else NONE
    yield f"    read back  {found}"
    yield f"    says       {write.says}"
    if write.decided:
        yield f"    decided    {write.decided}"
    yield f"    uncertain  {write.uncertain}"
    for source in write.sources:
        yield f"    source     {source.url} (read {source.read})"


def _key(key: KeyFact | None) -> str:
    if key is None:
        return NONE
    kept = f"deduped for {key.window} s" if key.window else "stored, not deduped"
    longest = f", at most {key.longest} characters" if key.longest else ""
    return f"{key.field}, {kept}{longest}"
