"""Mining: many recorded runs of ten calls with patterns planted among noise. All that were planted are found, none is invented.

Measured at a tenth of the runs and at all of them: seconds, and the memory that a process of its own takes for it.
"""

from __future__ import annotations

import multiprocessing
import random
import resource
import time
from collections import Counter
from collections.abc import Iterator
from typing import Any

from django.conf import settings
from django.db import connection

from liyagent.agents.models import Agent
from liyagent.jobs.work import work_due
from liyagent.leases.own import OWN
from routines.ask import ask_mining
from routines.models import Routine
from routines.pattern import pattern_of
from tests.bench.filling import WRITERS
from tests.bench.steps import new_holder
from tests.recorded_runs import Made, Past, write_past

RUNS, SMALL = 20_000, 2_000
PATTERNS, CALLS = 30, 10
# Of a hundred runs so many are of a pattern; so many of those failed, were held or recorded as metadata, and do not count.
PLANTED_PERCENT, SPOILT_PERCENT = 60, 10
SERVERS = ("crm", "desk", "mail", "jira", "wiki")
NOISE_TOOLS = 400
TWICE = 2
SEED = 7


def measure_mining(runs: int) -> dict[str, Any]:
    """Write so many runs in two agents, a tenth and all; return what mining each costs, and what it finds."""
    sizes = sorted({max(runs // (RUNS // SMALL), 300), runs})
    told = []
    for size in sizes:
        agent = f"mined-{size}"
        Agent.objects.create(
            key=agent, name=agent, provider="scripted", model="m", recording="full"
        )
        began = time.monotonic()
        _write(agent, size)
        filled = time.monotonic() - began
        with connection.cursor() as cursor:
            cursor.execute("ANALYZE runs_run, events_runevent, events_eventhead")
        measured = _in_a_process(agent)
        told.append({"runs": size, "filled_s": filled, **measured, **_found(agent, size)})
    # Once more behind all the others: what else the machine did meanwhile is in both.
    again = _in_a_process(f"mined-{sizes[0]}")
    told[0] |= {name: (told[0][name] + again[name]) / 2 for name in ("seconds", "cpu_s")}
    return {"patterns": PATTERNS, "calls": CALLS, "sizes": told}


def planted(agent: str) -> dict[str, list[str]]:
    """The tools of each planted pattern, by the pattern that runs of `agent` have with them."""
    chance = random.Random(SEED)
    found: dict[str, list[str]] = {}
    while len(found) < PATTERNS:
        tools = [f"{chance.choice(SERVERS)}/do_{chance.randrange(20)}" for _ in range(CALLS)]
        found[pattern_of(agent, tools)] = tools
    return found


def pasts(agent: str, count: int, *, seed: int) -> Iterator[Past]:
    """Runs of planted patterns and noise, in an order of chance; of noise no two are of one pattern, or hardly."""
    chance = random.Random(seed)
    patterns = list(planted(agent).values())
    for number in range(count):
        if number % 100 < TWICE:
            # Seen twice, and never a third time.
            pair = random.Random(f"{seed}-{number // 100}")
            tools = [f"twice/do_{pair.randrange(NOISE_TOOLS)}" for _ in range(CALLS)]
            yield _past(agent, tools, f"{seed}-{number}")
            continue
        if chance.randrange(100) >= PLANTED_PERCENT:
            tools = [f"noise/do_{chance.randrange(NOISE_TOOLS)}" for _ in range(CALLS)]
            yield _past(agent, tools, f"{seed}-{number}")
            continue
        run = _past(agent, patterns[number % PATTERNS], f"{seed}-{number}")
        yield _spoilt(run, chance) if chance.randrange(100) < SPOILT_PERCENT else run


def _past(agent: str, tools: list[str], mark: str) -> Past:
    """Each call is given what the one before returned, and a literal; the first what the task names."""
    calls, value = [], f"case-{mark}"
    for number, tool in enumerate(tools):
        returned = f"{tool.replace('/', '-')}-{number}-{mark}"
        args = {"id": value, "queue": f"queue-{number}", "is_urgent": True, "count": number}
        calls.append(Made(tool=tool, args=args, result={"item": {"id": returned}, "at": mark}))
        value = returned
    return Past(task=f"deal with case-{mark}", calls=calls, agent=agent)


def _spoilt(run: Past, chance: random.Random) -> Past:
    match chance.randrange(3):
        case 0:
            return Past(task=run.task, calls=run.calls, agent=run.agent, recording="metadata")
        case 1:
            last = Made(tool=run.calls[-1].tool, fate="failed")
        case _:
            last = Made(tool=run.calls[-1].tool, fate="held", posture="held")
    return Past(task=run.task, calls=[*run.calls[:-1], last], agent=run.agent)


def _write(agent: str, count: int) -> None:
    connection.close()
    shares = [(agent, count // WRITERS + (it < count % WRITERS), it + 1) for it in range(WRITERS)]
    with multiprocessing.get_context("fork").Pool(WRITERS) as pool:
        pool.starmap(_write_share, shares)


def _write_share(agent: str, count: int, seed: int) -> None:
    write_past(settings.LIYAGENT.database_url, pasts(agent, count, seed=seed))


def _in_a_process(agent: str) -> dict[str, Any]:
    """Mine in a process that has done nothing else: its memory is that of the mining."""
    connection.close()
    with multiprocessing.get_context("fork").Pool(1) as pool:
        return pool.apply(_mine, [agent])


def _mine(agent: str) -> dict[str, Any]:
    OWN.holder = new_holder()
    job = ask_mining(agent, asked_by="bench").job
    memory = _peak()
    began, cpu = time.monotonic(), time.process_time()
    while job.is_live:
        work_due(lambda: False)
        job.refresh_from_db()
    assert job.status == "done", job.reason
    return {
        "seconds": time.monotonic() - began,
        "cpu_s": time.process_time() - cpu,
        "memory_mb": (_peak() - memory) / 1024,
        "result": job.result,
    }


def _found(agent: str, runs: int) -> dict[str, Any]:
    wanted = planted(agent)
    routines = {it.pattern: it for it in Routine.objects.filter(agent_key=agent)}
    right = [it for it in routines.values() if it.pattern in wanted and _is_right(it, wanted[it.pattern])]  # fmt: skip
    counted = Counter(pattern_of(agent, [it.tool for it in past.calls]) for seed in range(1, WRITERS + 1) for past in pasts(agent, runs // WRITERS + (seed - 1 < runs % WRITERS), seed=seed) if past.recording == "full" and all(it.fate == "done" for it in past.calls))  # fmt: skip
    return {
        "found": len(right),
        "missed": len(wanted.keys() - routines.keys()),
        # Of noise too a pattern may be seen three times by chance; it is invented only where it was not.
        "invented": sum(counted[it] < settings.LIYAGENT.routine_min_support for it in routines),
        "support_is_exact": all(it.support == counted[it.pattern] for it in routines.values()),
        "routines": len(routines),
    }


def _is_right(routine: Routine, tools: list[str]) -> bool:
    """Whether it makes the planted calls, each given what the one before returned, and matches all runs it was scored over."""
    steps = [it for it in routine.definition["steps"] if it["type"] == "tool"]
    calls = [f"{it['server']}/{it['tool']}" for it in steps]
    chained = all("output.item.id" in str(it["args"]["id"]) for it in steps[1:])
    literal = all(it["args"]["queue"] == f"queue-{number}" for number, it in enumerate(steps))
    score = routine.score
    return calls == tools and chained and literal and score["runs"] == score["runs_matched"] > 0


def _peak() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
