"""Guards that are taken out of a copy of the tree; the cuts there must fail at a message that they name."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from liyagent.demo.vendors.process import ROOT
from tests.guards.guard import Guard
from tests.guards.tree import NOT_COPIED, Tree

MARKED = "        may_send = scope.mark_sending(verdict, payload)\n"
STEPS = "        pending = self._write_step(answer)\n        self._make_calls(pending)\n"
SETTLES = """    UPDATE runs_run SET sequence = p_sequence, seal = p_seal
        WHERE id = p_run AND attempt = p_attempt AND status = 'running' AND sequence = p_sequence - 1
        RETURNING correlation_id, mission, recording, events_missing, stop_requested, agent_key, request_id, loop AS own_loop
        INTO v;
    IF FOUND THEN
        UPDATE runs_call SET fate"""
OPEN = "            WHERE run_id = p_run AND step = p_step AND index = p_index AND fate = '';\n        IF NOT FOUND THEN\n            RAISE EXCEPTION 'call % of step % of run % is not open: not settled'"
DOUBT = "    return Settlement.READ_BACK if has_reader else Settlement.TOLD_UNKNOWN\n"
WINDOW = "        return boottime() < self.resend_until.get(call.index, 0.0)\n"
RESERVES = "            return super().mark_sending(verdict, payload, **known)\n        return self._reserve(verdict, payload)\n"
RESERVES_LATE = '''            return super().mark_sending(verdict, payload, **known)
        return lambda: True

    def settle(self, verdict: Verdict, payload: Payload | None, outcome: Outcome) -> None:
        """Reserve only now that it was made."""
        if payload is not None and not self.is_reserved:
            self._reserve(verdict, payload)
        super().settle(verdict, payload, outcome)
'''
WAKES = "    PERFORM liyagent_wake(v_run);\n"
FINDS = "        if self._sleepers.wake(self._sql()):\n"
CHILD = "    child = _child_of(checkpoint.run, agent, key=payload.key)\n"
CHILD_BY_ITSELF = '    child.loop = f"{child.loop[:24]}/{child.id}"\n'
DELEGATES = "    rows = hot.ask(DELEGATE, "
BEGINS_CHILD = """    hot.ask(
        "SELECT * FROM liyagent_start(%s, %s, %s, %s, %s, %s, %s, %s, '', %s, %s, %s::smallint, %s, %b, %b, ''::bytea,"
        " '{}'::jsonb, '[]'::jsonb, liyagent_config_version(), '', '')",
        (
            child.id, child.correlation_id, child.parent_id, child.loop, child.agent_key, child.agent_version, child.entry,
            child.mission, child.started_by, child.recording, child.format, child.key_id, begun.seal, begun.start,
        ),
        give_up=checkpoint.give_up,
    )
"""
CHILD_FOUND = (
    '    found = stored_rows(Run, "correlation_id = %s AND loop = %s", values, give_up=give_up)\n'
)
KEEPS_ACTIVITY = """        received = receive_message(activity, bot=bot, request_id=current_stamp().request_id)
        told = {"id": str(received.run_id)}
        return Answered(told, run_id=received.run_id) if received.is_new else Response(told)
"""
KEEPS_IT_LATER = """        stamp, told = current_stamp().request_id, Response({})
        told._resource_closers.append(
            lambda: begin_received(receive_message(activity, bot=bot, request_id=stamp).run_id)
        )
        return told
"""
UPDATES = "    return update(place, turn.reply, _reply(turn, place.bot), mark=mark)\n"
DELIVERY_ID = "run_id, arriving.way, arriving.source, arriving.delivery_id, arriving.body_digest,"
BEGINS_DUE = 'ROUNDS["arrivals"] = Round(look=begin_due, due=f"EXISTS ({TO_BEGIN})")\n'
SENDS = "    try:\n        sent = SENDERS[delivery.way](\n"
STILL_OWED = " AND state = 'pending' AND claimed_until > liyagent_now()\n"
KEEPS_SLOT = '    kept = _keep_slot(trigger, last, missed="" if is_fired else _why_missed(last, is_fired=False))\n'
MOVES_ON = """    trigger.next_slot, trigger.last_slot = following, last
    trigger.save(update_fields=["next_slot", "last_slot"])
"""
FIRES = """        with transaction.atomic(durable=True):
            found = _claimed()
"""
LIVE_ROUND = """        if saga.status == SagaStatus.COMPENSATING:
            return saga
"""
HEARD = "        if fate is not UndoFate.HELD and is_told:\n"
SWEEPS_HAND_OFFS = "        hand_off_due()\n"


@dataclass(frozen=True, slots=True, kw_only=True)
class Taken:
    """What is taken out, and in which kind of run, by which fault, it must show; `named`: at messages so named alone."""

    diffs: tuple[tuple[str, str, str], ...]
    kind: str
    fault: str = "killed"
    named: str = ""


GUARDS = {
    "marked-before-sending": Taken(
        kind="blind",
        diffs=(("liyagent/gateway/call.py", MARKED, "        may_send = _always\n"),),
    ),
    "step-before-calls": Taken(
        kind="blind",
        diffs=(
            (
                "runs/attempt.py",
                STEPS,
                "        self._make_calls(asked_for(self.checkpoint, answer))\n        self._write_step(answer)\n",
            ),
        ),
    ),
    "fence-of-settle": Taken(
        kind="blind",
        fault="frozen",
        diffs=(
            (
                "runs/sql/step.sql",
                SETTLES,
                SETTLES.replace(
                    " AND attempt = p_attempt AND status = 'running' AND sequence = p_sequence - 1",
                    "",
                ),
            ),
            ("runs/sql/step.sql", OPEN, OPEN.replace(" AND fate = ''", "")),
        ),
    ),
    "no-blind-resend": Taken(
        kind="blind",
        diffs=(
            ("runs/in_doubt.py", DOUBT, "    return Settlement.SENT_WITH_SAME_KEY\n"),
            ("runs/scope.py", WINDOW, "        return True\n"),
        ),
    ),
    "approval-consumed-at-reserve": Taken(
        kind="held", diffs=(("runs/dispatch.py", RESERVES, RESERVES_LATE),)
    ),
    # Both: the leader finds whoever sleeps on a decision that was made.
    "decision-wakes": Taken(
        kind="held",
        diffs=(
            ("runs/sql/approve.sql", WAKES, ""),
            ("runs/watch.py", FINDS, "        if False:\n"),
        ),
    ),
    "child-found-by-key": Taken(
        kind="delegated",
        diffs=(
            ("runs/delegate.py", CHILD, CHILD + CHILD_BY_ITSELF),
            ("runs/delegate.py", DELEGATES, BEGINS_CHILD + DELEGATES),
            (
                "runs/delegate.py",
                CHILD_FOUND,
                CHILD_FOUND.replace("loop = %s", "left(loop, 24) = left(%s, 24)"),
            ),
        ),
    ),
    # A person who asks while a round is at it begins another beside it.
    "one-round-at-a-time": Taken(
        kind="saga of a map, asked",
        named="liyagent_undo_told",
        diffs=(("runs/compensate.py", LIVE_ROUND, ""),),
    ),
    "no-blind-undo-twice": Taken(
        kind="saga",
        named="servicenow tools/call cancel_change",
        diffs=(
            ("runs/in_doubt.py", DOUBT, "    return Settlement.SENT_WITH_SAME_KEY\n"),
            ("runs/scope.py", WINDOW, "        return True\n"),
        ),
    ),
    # Whoever goes on tells again what came of the last undo.
    "an-undo-is-told-once": Taken(
        kind="saga",
        named="liyagent_undo_told",
        diffs=(("runs/undo_mind.py", HEARD, "        if False:\n"),),
    ),
    # Nobody looks for what a dead process had to hand off.
    "hand-offs-are-swept": Taken(
        kind="saga",
        named="insert approvals_approval",
        diffs=(
            ("runs/watch.py", SWEEPS_HAND_OFFS, ""),
            ("runs/jobs.py", SWEEPS_HAND_OFFS, ""),
        ),
    ),
    # An activity is answered before its row is committed.
    "arrival-before-answer": Taken(
        kind="teams", diffs=(("liyagent/entry/teams/api.py", KEEPS_ACTIVITY, KEEPS_IT_LATER),)
    ),
    # The answer is posted, and not put in the place of what was posted.
    "answer-is-an-update": Taken(
        kind="teams",
        named="connector",
        diffs=(
            (
                "liyagent/entry/teams/deliver.py",
                UPDATES,
                UPDATES.replace("update(place, turn.reply, ", "post(place, "),
            ),
        ),
    ),
    # What is delivered again has a name of its own.
    "one-arrival-per-delivery": Taken(
        kind="webhook",
        diffs=(
            (
                "liyagent/entry/arrive.py",
                DELIVERY_ID,
                DELIVERY_ID.replace(
                    "arriving.delivery_id", 'f"{arriving.delivery_id[:200]} {run_id}"'
                ),
            ),
        ),
    ),
    # Nobody else begins what was kept, and its sender was told or sends no more.
    "arrivals-are-begun-by-others": Taken(
        kind="ticket", diffs=(("liyagent/entry/rounds.py", BEGINS_DUE, ""),)
    ),
    # A delivery is settled, and then it is sent.
    "settled-once-sent": Taken(
        kind="a2a",
        named="update entry_delivery",
        diffs=(
            ("liyagent/entry/deliver.py", SENDS, f"    _settle(delivery, Sent())\n{SENDS}"),
            ("liyagent/entry/deliver.py", STILL_OWED, "\n"),
        ),
    ),
    # A trigger moves on to its next slot in a commit of its own, before the slot is kept.
    "slot-kept-as-its-trigger-moves-on": Taken(
        kind="cron",
        diffs=(
            (
                "liyagent/entry/cron/fire.py",
                FIRES,
                FIRES.replace("with transaction.atomic(durable=True):", "if True:"),
            ),
            ("liyagent/entry/cron/fire.py", '    require_transaction("firing a trigger")\n', ""),
            ("liyagent/entry/cron/fire.py", KEEPS_SLOT + MOVES_ON, MOVES_ON + KEEPS_SLOT),
        ),
    ),
}


def without(name: str, *, say: Callable[[str], None]) -> int:
    """Take a guard out, or each in turn for `all`; 0 where every one shows. Raises `GuardMoved`."""
    names = list(GUARDS) if name == "all" else [name]
    shown = [_shows(it, say=say) for it in names]
    return 0 if all(shown) else 1


def _shows(name: str, *, say: Callable[[str], None]) -> bool:
    taken = GUARDS[name]
    with tempfile.TemporaryDirectory(prefix="liyagent-cuts-") as directory:
        tree = Path(directory) / "tree"
        shutil.copytree(ROOT, tree, ignore=NOT_COPIED)
        copy = Tree(place=tree, database_url="")
        for file, search, replace in taken.diffs:
            guard = Guard(name=name, file=file, search=search, replace=replace, tests=())
            copy.take_out(guard)
        command = [sys.executable, "-m", "tests.trials.cuts", "--fail-fast", "--kind", taken.kind]
        command += ["--changing", "--fault", taken.fault, "--named", taken.named]
        env = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1", "CUTS": "1", "FULL": ""}
        ended = subprocess.run(
            command, cwd=tree, env=env, capture_output=True, text=True, check=False
        )
    failing = [it for it in ended.stdout.splitlines() if it.startswith(f"{taken.kind}: ")]
    if ended.returncode == 0 or not failing:
        say(f"{name:<30} NOT SHOWN: {(ended.stdout + ended.stderr).strip()[-1500:]}")
        return False
    say(f"{name:<30} {failing[0]}")
    return True
