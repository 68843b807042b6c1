"""What came of a saga that was cut: no undo twice on a ledger, none lost, newest first, one hand-off (SG-05 to SG-09, FL-63)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from uuid import UUID

from liyagent.demo.judge import Request, Unknown, Verdict, judge, read_requests
from liyagent.demo.vendors.process import VENDORS
from tests.accounted import account
from tests.trials.chains import check_chains
from tests.trials.cuts.course import Cut
from tests.trials.cuts.ground import Ground
from tests.trials.cuts.judging import Judged, charged, wait_for_late_looks
from tests.trials.cuts.kinds import RunKind
from tests.trials.cuts.sagas import UNDO_TOOLS, WRITES
from tests.trials.watch import ENDED, Row, write_shown

SAGA = "SELECT * FROM sagas_saga WHERE id = %s"
UNDOS = """
    SELECT id, "order", run_id, step, index, of_server, of_tool, server, tool, key, fate, tries, note
    FROM sagas_undo WHERE saga_id = %s ORDER BY "order"
"""
ROUNDS = "SELECT id, loop FROM runs_run WHERE correlation_id = %s AND loop LIKE 'undo:%%' ORDER BY created_at"
APPROVALS = "SELECT id, kind, status FROM approvals_approval WHERE correlation_id = %s"
AUDITED = """
    SELECT action, detail->>'order' AS "order", detail->>'outcome' AS outcome, count(*) AS times
    FROM audit_auditrow WHERE correlation_id = %s AND (action LIKE 'saga.%%' OR action = 'agent.handoff') GROUP BY 1, 2, 3
"""
# What was handed over, as its saga and its request name it (HO-03).
HANDED = """
    SELECT v.number FROM handoffs_version v JOIN sagas_saga s ON s.handoff_digest = v.digest
        JOIN approvals_approval a ON a.run_id = s.id AND a.handoff_digest = v.digest WHERE s.id = %s
"""
TOLD = """
    SELECT kind, run_id, content::jsonb->>'step' AS step, content::jsonb->>'index' AS index,
        content::jsonb->>'name' AS name, content::jsonb->>'fate' AS fate, content::jsonb->>'order' AS "order", count(*) AS times
    FROM events_runevent WHERE correlation_id = %s AND kind IN ('run.started', 'step', 'tool.call', 'run.ended',
        'workflow.started', 'workflow.step', 'workflow.ended', 'saga.registered', 'saga.undone', 'saga.ended', 'saga.handoff', 'handoff')
    GROUP BY 1, 2, 3, 4, 5, 6, 7 HAVING count(*) > 1
"""
ROOT_ENDS = {"workflow": "workflow.step", "map": "cap.steps"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """All that is looked at: `requests` are the ledgers' own, with when each was received."""

    saga: Row | None
    undos: Sequence[Row]
    calls: Sequence[Row]
    rounds: Sequence[Row]
    requests: Sequence[Request]
    received: Mapping[str, float]

    @property
    def unknown(self) -> bool:
        """Whether a write of the family may have happened, and nobody can tell."""
        return any(it["fate"] == "unknown" and it["late_finding"] != "found" for it in self.calls)

    def effects(self, key: str) -> int:
        """How many effects there are of a step key."""
        return len(
            {(it.vendor, it.effect) for it in self.requests if it.step_key == key and it.effect}
        )


def saga_judged(
    ground: Ground, kind: RunKind, cut: Cut | None, family: list[Row], *, caught: int, is_left: bool
) -> Judged:
    """Judge a saga whose runs have all ended, or whose time is up."""
    runs = [it["id"] for it in family]
    wait_for_late_looks(ground, runs)
    facts = facts_of(ground, family)
    shown = [write_shown(it) for it in facts.calls]
    verdict = judge(runs=(), writes=shown, requests=facts.requests)
    lost = [it for it in family if it["status"] not in ENDED]
    broken = [f"asleep: a run of {it['agent_key']} is still {it['status']}" for it in lost]
    late = late_arrivals(ground, verdict, facts)
    broken += [it for it in replace(verdict, unknown=late).broken if not it.startswith("nothing")]
    if verdict.unknown and not caught:
        broken.append("unknown: and no write was in doubt when the victim was struck")
    broken += charged(family, cut)
    broken += ["the victim did not end once its run was another's"] if not is_left else []
    if not lost:
        broken += [*_root(kind, family, facts), *_undos(kind, facts), *_order(facts)]
        broken += [*_status(facts), *_told(ground, family[0]["correlation_id"], facts)]
    chains, gaps = check_chains(ground.stage.database_url, runs)
    broken += [f"events: the chain of {it} does not verify" for it in chains]
    broken += [f"events: {gaps} are missing"] if gaps else []
    accounted = account(
        ground.stage.database_url,
        seal_keys=ground.stage.env["LIYAGENT_SEAL_KEYS"],
        runs=runs,
        requests=facts.requests,
    )
    broken += [f"record: {it}" for it in accounted.faults]
    return Judged(
        verdict=verdict,
        lost=len(lost),
        duplicates=len(verdict.duplicates),
        broken=tuple(broken),
        rows=(*family, *facts.calls, *facts.undos) if broken else (),
    )


def late_arrivals(ground: Ground, verdict: Verdict, facts: Facts) -> tuple[Unknown, ...]:
    """Return what is of unknown outcome, but for what left a frozen process after it had been looked for late."""
    looked = {
        it["step_key"]: it["settled_at"].timestamp() + ground.clocks["late_look"]
        for it in facts.calls
        if it["settled_at"] is not None
    }
    return tuple(
        it
        for it in verdict.unknown
        if facts.received.get(it.write.step_key, 0.0) <= looked[it.write.step_key]
    )


def facts_of(ground: Ground, family: list[Row]) -> Facts:
    """Read all of it, from outside."""
    root = family[0]["correlation_id"]
    saga = ground.watch.rows(SAGA, [root])
    requests, received = requests_of(ground, root)
    return Facts(
        saga=saga[0] if saga else None,
        undos=ground.watch.rows(UNDOS, [root]),
        calls=ground.watch.calls([it["id"] for it in family]),
        rounds=ground.watch.rows(ROUNDS, [root]),
        requests=requests,
        received=received,
    )


def requests_of(ground: Ground, root: UUID) -> tuple[list[Request], dict[str, float]]:
    """Return what this root's writes and undos were to the vendors, and by step key when each was first received.

    An undo of an agent's map bears the marker of the write that it undoes: here it is one of its own.
    """
    found: list[Request] = []
    received: dict[str, float] = {}
    for vendor in VENDORS:
        for row in ground.stage.vendors.ledger(vendor)["requests"]:
            for it in read_requests({vendor: {"requests": [row]}}):
                if it.marker.partition("/")[0] != str(root):
                    continue
                is_undo = row["tool"] in UNDO_TOOLS
                found.append(replace(it, marker=f"{it.marker} undone") if is_undo else it)
                received.setdefault(it.step_key, row["received_at"])
    return found, received


def _root(kind: RunKind, family: list[Row], facts: Facts) -> list[str]:
    """It failed at its page; before it each write was made, unless one in doubt ended it."""
    (root,) = [it for it in family if it["id"] == it["correlation_id"]]
    made = {f"{it['server']}/{it['tool']}" for it in facts.calls if it["run_id"] == root["id"]}
    missing = [name for name, _ in WRITES.values() if name not in made]
    is_doubted = kind.saga == "workflow" and any(
        it["run_id"] == root["id"] and it["fate"] == "unknown" for it in facts.calls
    )
    ends = "workflow.unknown" if is_doubted else ROOT_ENDS[kind.saga]
    broken = []
    if (root["status"], root["error"]) != ("failed", ends):
        broken.append(f"the root is {root['status']}, {root['error']}: {root['reason']}")
    if missing and not is_doubted:
        broken.append(f"writes that were never made: {', '.join(missing)}")
    return broken


def _undos(kind: RunKind, facts: Facts) -> list[str]:
    """Each write that took effect has one undo, and each undo came to one thing, which the ledgers bear out."""
    broken = []
    places = {(it["run_id"], it["step"], it["index"]): it for it in facts.undos}
    rounds = {it["id"] for it in facts.rounds}
    for call in facts.calls:
        name = f"{call['server']}/{call['tool']}"
        if call["run_id"] in rounds or name not in {it for it, _ in WRITES.values()}:
            continue
        is_done = call["fate"] == "done" or call["late_finding"] == "found"
        if is_done != ((call["run_id"], call["step"], call["index"]) in places):
            broken.append(
                f"undo: of {name}, which is {call['fate']}, there is {'none' if is_done else 'one'}"
            )
    late = {
        (it["run_id"], it["step"], it["index"])
        for it in facts.calls
        if it["late_finding"] == "found"
    }
    for undo in facts.undos:
        name, effects = f"{undo['server']}/{undo['tool']}", facts.effects(undo["key"])
        if effects > 1:
            broken.append(f"undone twice: {name} took effect {effects} times")
        if undo["fate"] not in {"done", "unknown"} and not (
            undo["fate"] == "owed"
            and (undo["run_id"], undo["step"], undo["index"]) in late
            and not kind.is_pressed
        ):
            broken.append(
                f"lost: undo {name} is {undo['fate']} after {undo['tries']} tries: {undo['note']}"
            )
        if (undo["fate"] == "done") > effects or (undo["fate"] == "owed" and effects):
            broken.append(f"untrue: undo {name} is {undo['fate']} and took effect {effects} times")
    return broken


def _order(facts: Facts) -> list[str]:
    """Within a round the newest is undone first, by the vendors' own clock, and nothing before the last write.

    What came to be unknown may have left a frozen process long after.
    """
    broken = []
    known = [it for it in facts.calls if it["fate"] == "done" and it["step_key"] in facts.received]
    orders = {it["key"]: it["order"] for it in facts.undos}
    written = [facts.received[it["step_key"]] for it in known if it["step_key"] not in orders]
    for one in facts.rounds:
        sent = sorted(
            (facts.received[it["step_key"]], orders[it["step_key"]])
            for it in known
            if it["run_id"] == one["id"] and it["step_key"] in orders
        )
        made = [order for _, order in sent]
        if made != sorted(made, reverse=True):
            broken.append(f"order: {one['loop']} undid {made}")
        if sent and written and sent[0][0] < max(written):
            broken.append("order: something was undone before the last write was made")
    return broken


def _status(facts: Facts) -> list[str]:
    """`compensated` means that all is undone, and nothing else does; one round after the other, one run each."""
    saga = facts.saga
    if saga is None:
        return ["lost: there is no saga"]
    is_all = all(it["fate"] == "done" for it in facts.undos) and not facts.unknown
    broken = []
    if saga["status"] != ("compensated" if is_all else "partial"):
        fates = Counter(it["fate"] for it in facts.undos)
        broken.append(f"status: {saga['status']}, with {dict(fates)}, unknown {facts.unknown}")
    if [it["loop"] for it in facts.rounds] != [f"undo:{n}" for n in range(1, saga["round"] + 1)]:
        broken.append(
            f"rounds: {[it['loop'] for it in facts.rounds]} where it counts {saga['round']}"
        )
    return broken


def _told(ground: Ground, root: UUID, facts: Facts) -> list[str]:
    """One hand-off, and each thing is told once."""
    saga, approvals = facts.saga, ground.watch.rows(APPROVALS, [root])
    broken = []
    if saga is not None and saga["handed_off_at"] is None:
        broken.append("hand-off: it was never handed off")
    if [(it["kind"], it["status"]) for it in approvals] != [("saga", "pending")]:
        broken.append(
            f"hand-off: {len(approvals)} requests: {[(it['kind'], it['status']) for it in approvals]}"
        )
    handed = [it["number"] for it in ground.watch.rows(HANDED, [root])]
    broken += [] if handed == [1] else [f"hand-off: saga and request name versions {handed}"]
    rows = ground.watch.rows(AUDITED, [root])
    told: Counter[str] = Counter()
    for it in rows:
        told[it["action"]] += it["times"]
        if it["outcome"] == "done" and it["times"] != 1:
            broken.append(f"audit: undo {it['order']} is done {it['times']} times")
    done = sum(it["outcome"] == "done" for it in rows)
    expected = {
        "saga.registered": (told["saga.registered"], len(facts.undos)),
        "saga.compensating": (told["saga.compensating"], len(facts.rounds)),
        "saga.handoff": (told["saga.handoff"], 1),
        "agent.handoff": (told["agent.handoff"], 1),
        "saga.compensation": (done, sum(it["fate"] == "done" for it in facts.undos)),
        "saga.compensated": (told["saga.compensated"], int(saga is not None and saga["status"] == "compensated")),
    }  # fmt: skip
    broken += [
        f"audit: {name} {is_} times instead of {to_be}"
        for name, (is_, to_be) in expected.items()
        if is_ != to_be
    ]
    broken += [
        f"events: {it['kind']} of step {it['step']}{it['name'] or ''} is told {it['times']} times"
        for it in ground.watch.rows(TOLD, [root])
    ]
    return broken
