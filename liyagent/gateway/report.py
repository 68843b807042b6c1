"""What becomes of each tool's writes in doubt, what there is to mend, and what the vendor's facts would allow.

It reads and proposes; a contract is changed by an operator alone (FL-08).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice

from django.db.models import QuerySet

from liyagent.gateway.contracts import contract_of
from liyagent.gateway.models import Tool
from liyagent.gateway.outcome import Contract, Effect
from liyagent.gateway.proposals import Proposal, proposal_for
from liyagent.gateway.stale_undos import stale_undos
from liyagent.gateway.states import in_doubt

# A resume begins within seconds, but a paused database, a deploy or a queue may hold it up; and a key is trusted for
# half of its window only (ruling 21). What dedupes for minutes is declared with window 0 and settled (CR-26).
A_RESUME_MAY_TAKE_SECONDS = 3600
MOST_TOLD = 500
CHUNK = 200

BLIND = "it has no key, no reader and no undo"
TO_APPROVE = "it waits for approval: its calls are held"
NO_READER = "its reader cannot be used"
STALE = "its undo by agent"


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolReport:
    """One tool of an enabled server. `in_doubt`: what becomes of such a write, "" for a read; `mend`: what is wrong."""

    tool: str
    effect: str
    in_doubt: str
    mend: tuple[str, ...]
    proposals: tuple[Proposal, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """At most 500 tools, those with something to mend first; `left_out` are those beyond."""

    tools: tuple[ToolReport, ...]
    writes: int
    reads: int
    to_mend: int
    left_out: int


def report_of(server: str | None = None) -> Report:
    """Look at every offered tool of `server`, by default of all enabled ones."""
    tools = Tool.objects.filter(is_offered=True, server__is_enabled=True).select_related("server")
    if server is not None:
        tools = tools.filter(server__key=server)
    mended: list[ToolReport] = []
    whole: list[ToolReport] = []
    count = {Effect.WRITE: 0, Effect.READ: 0}
    to_mend = 0
    for one in _each(tools.order_by("server__key", "name"), _stale()):
        count[Effect(one.effect)] += 1
        to_mend += bool(one.mend)
        kept = mended if one.mend else whole
        if len(kept) < MOST_TOLD:
            kept.append(one)
    told = (*mended, *whole)[:MOST_TOLD]
    return Report(
        tools=told,
        writes=count[Effect.WRITE],
        reads=count[Effect.READ],
        to_mend=to_mend,
        left_out=sum(count.values()) - len(told),
    )


def _stale() -> dict[str, list[str]]:
    """By write, what agents' maps say of its undo and what does not work any more."""
    found: dict[str, list[str]] = {}
    for it in islice(stale_undos(), MOST_TOLD):
        found.setdefault(it.write, []).append(f"{STALE} {it.agent} fails: {it.said}")
    return found


def _each(tools: QuerySet[Tool], stale: Mapping[str, Sequence[str]]) -> Iterator[ToolReport]:
    chunk: list[Tool] = []
    for tool in tools.iterator(chunk_size=CHUNK):
        chunk.append(tool)
        if len(chunk) == CHUNK:
            yield from _of_chunk(chunk, stale)
            chunk = []
    yield from _of_chunk(chunk, stale)


def _of_chunk(tools: list[Tool], stale: Mapping[str, Sequence[str]]) -> Iterator[ToolReport]:
    contracts = [contract_of(tool) for tool in tools]
    readers = _readers(contracts)
    for tool, contract in zip(tools, contracts, strict=True):
        mend = (*_to_mend(tool, contract, readers), *stale.get(contract.name, ()))
        is_write = contract.effect is Effect.WRITE
        yield ToolReport(
            tool=str(tool),
            effect=contract.effect.value,
            in_doubt=in_doubt(contract),
            mend=mend,
            proposals=proposal_for(tool) if is_write and tool.server.vendor else (),
        )


def _readers(contracts: Iterable[Contract]) -> Mapping[str, str]:
    """What is wrong with each reader that these name, by `server/tool`; "" where nothing is."""
    named = {it.reader.tool for it in contracts if it.reader is not None}
    found = Tool.objects.filter(name__in={name.partition("/")[2] for name in named})
    known = {str(tool): tool for tool in found.select_related("server").defer("schema", "approved")}
    return {name: _wrong_with(name, known.get(name)) for name in named}


def _wrong_with(name: str, tool: Tool | None) -> str:
    if tool is None:
        return f"its reader {name} is gone"
    if not tool.is_offered:
        return f"its reader {name} is gone: the server no longer offers it"
    if not tool.server.is_enabled:
        return f"its reader {name} is of a server that is disabled"
    if tool.effect != Effect.READ.value:
        return f"its reader {name} is a write: declare it `effect: read`, or name another"
    return "" if tool.is_approved else f"its reader {name} waits for approval"


def _to_mend(tool: Tool, contract: Contract, readers: Mapping[str, str]) -> Iterator[str]:
    if not tool.is_approved:
        yield TO_APPROVE
    if contract.effect is Effect.READ:
        return
    window = contract.key_window_seconds
    if 0 < window < A_RESUME_MAY_TAKE_SECONDS:
        yield (
            f"its key is deduped for {window} s only, and a resume may take {A_RESUME_MAY_TAKE_SECONDS} s: "
            "declare window 0, and it is settled in place of sent again"
        )
    if contract.reader is not None:
        if wrong := readers[contract.reader.tool]:
            yield wrong
    elif tool.reader is not None:
        yield NO_READER
    elif window == 0 and contract.undo is None:
        yield BLIND
