"""What cohort replays came to, in words that an operator understands. What was seen is said, never that anything is safe."""

from __future__ import annotations

from collections.abc import Mapping

from liyagent.core.pills import BAD, GOOD, QUIET, WARN
from liyagent.replays.diff import CHANGED, REGRESSED, SAME
from liyagent.replays.made import How
from liyagent.replays.models import ReplayStatus

STATUSES: dict[str, tuple[str, str]] = {
    ReplayStatus.QUEUED: ("queued", QUIET),
    ReplayStatus.RUNNING: ("running", QUIET),
    ReplayStatus.DONE: ("done", GOOD),
    ReplayStatus.FAILED: ("failed", BAD),
    ReplayStatus.CANCELLED: ("cancelled", WARN),
}
VERDICTS: dict[str, tuple[str, str]] = {
    SAME: ("same", GOOD),
    CHANGED: ("changed", WARN),
    REGRESSED: ("regressed", BAD),
}
# In which way a replay is another, as `Diff.differs` names it.
DIFFERS: dict[str, str] = {
    REGRESSED: "it answered before and does not now",
    "answer": "it answers otherwise",
    "status": "it ends otherwise",
    "tools": "it calls other tools, or in another order",
    "outcomes": "a gate or hook refuses what it let through",
    How.UNSERVED: "it asks for what the record does not have",
    How.BY_ORDER: "it calls a tool with other arguments",
    How.NOT_HERE: "it asks for what no replay does",
}
HOW: dict[str, tuple[str, str, str]] = {
    How.EXACT: ("as recorded", GOOD, "The same tool with the same arguments stands in the record."),
    How.BY_ORDER: (
        "other arguments",
        WARN,
        "Answered by the next unused call of that tool in the record: what it was told was meant for other arguments.",
    ),
    How.UNSERVED: (
        "not in the record",
        BAD,
        "The original never made it, so it was told that there is no answer.",
    ),
    How.REFUSED: ("refused", WARN, "A gate or a hook refuses it as they stand today."),
    How.NOT_HERE: (
        "not in a replay",
        WARN,
        "A remote agent, or the agent's own state: nothing for real.",
    ),
}
DRIFT = {"changed": "another value", "added": "only now", "dropped": "not any more"}
LIMIT_OF_IT = "It says what these runs would have been. Of other tasks it says nothing: whether to switch is yours to decide."
STANDS = {
    ReplayStatus.QUEUED: "It waits for a process to carry it.",
    ReplayStatus.RUNNING: "The runs are being replayed, side by side.",
    ReplayStatus.FAILED: "It could not be carried out, and says nothing about the model.",
    ReplayStatus.CANCELLED: "It was cancelled. What was replayed until then stands below, and makes no verdict.",
}
NOTHING = "No run could be replayed: nothing was compared, and there is no verdict. Each reason stands below."


def sentence_of(status: str, verdict: str, counts: Mapping[str, int]) -> str:
    """Return what was seen, in one sentence; `counts` are the runs by what each came to."""
    if status != ReplayStatus.DONE:
        return STANDS[ReplayStatus(status)]
    total = sum(counts.values())
    if not verdict or not total:
        return NOTHING
    same, changed, regressed = (counts.get(it, 0) for it in (SAME, CHANGED, REGRESSED))
    if verdict == SAME:
        whose = "The one run" if total == 1 else f"All {total} runs"
        return f"{whose} came out the same: same answer, same calls in the same order, each with the same arguments."
    others = [f"{same} {'is' if same == 1 else 'are'} the same"] if same else []
    if verdict == REGRESSED:
        others = [f"{changed} came out otherwise", *others] if changed else others
        told = f"{regressed} of {_runs(total)} answered before and {'does' if regressed == 1 else 'do'} not any more"
        return f"{told}; {' and '.join(others)}." if others else f"{told}."
    told = f"{changed} of {_runs(total)} came out otherwise"
    return f"{told}, {', '.join(others)}; each that answered before answers now." if others else f"{told}; each that answered before answers now."  # fmt: skip


def beyond_told(beyond: str, lanes: int) -> str:
    """Return how that compares with the unchanged agent's own noise; "" without a baseline."""
    if not lanes or not beyond:
        return ""
    times = "once" if lanes == 1 else f"{lanes} times"
    beside = f"Each run was also replayed {times} with the agent unchanged."
    return {
        SAME: f"{beside} All that differs, differs there too: nothing of it is more than noise.",
        CHANGED: f"{beside} Some of what differs is more than noise: the unchanged agent does not do it.",
        REGRESSED: f"{beside} More than noise: a run that the unchanged agent answers is not answered any more.",
    }.get(beyond, "")


def _runs(number: int) -> str:
    return f"{number} run{'' if number == 1 else 's'}"
