"""The job `cohort_replay`: runs side by side, each result in a commit of its own, and the verdict once all are there.

It goes on from what is kept: a run that has a result in a lane, or was skipped, is not replayed there again.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import product
from uuid import UUID

from django.conf import settings
from django.db import transaction

from liyagent.agents.models import ConfigVersion
from liyagent.core.metrics import RUNS_REPLAYED
from liyagent.jobs.errors import JobFailed
from liyagent.jobs.handlers import HANDLERS, Beat, Handler, Step, nothing
from liyagent.jobs.models import NOW, Job
from liyagent.jobs.stamp import stamp_of
from liyagent.replays.ask import KIND, refusal_now
from liyagent.replays.budget import Budget
from liyagent.replays.crew import Crew, Ended
from liyagent.replays.end import LEFT, LIVE, end_replay, status_after
from liyagent.replays.lane import Made, Place, Recordings, ask_whether_there, replay_lane
from liyagent.replays.models import CohortReplay, Replayed, ReplayStatus
from liyagent.replays.recorded import Skipped
from liyagent.replays.verdict import give_verdict, tokens_now
from liyagent.replays.words import sealed_words
from runs.authority import AgentNow, agent_now
from runs.endings import EndError
from runs.models import Run

Keep = Callable[[], None]

BEAT_SECONDS = 0.2
# One after the other: the endpoint is away, and what it does not answer says nothing about the model.
MOST_UNANSWERED = 3
IS_PROBED = "is_probed"
NO_PLACE: Place = (UUID(int=0), 0)
CAPPED = "the cap of {cap} was reached before it was begun"


@dataclass(slots=True, kw_only=True)
class Carrying:
    """One take of a cohort. `todo` are the runs that nothing is known of yet, `lanes` those of one that was begun before."""

    job: Job
    replay: CohortReplay
    agents: tuple[AgentNow, AgentNow]
    crew: Crew[Place, Made | Skipped | None]
    budget: Budget
    expected: dict[UUID, tuple[int, int]]
    recordings: Recordings = field(default_factory=Recordings)
    todo: deque[UUID] = field(default_factory=deque)
    lanes: deque[Place] = field(default_factory=deque)
    verdicts: Counter[str] = field(default_factory=Counter)
    kept: int = 0
    unanswered: int = 0

    def steps(self) -> Iterator[Step | Beat]:
        """Yield a step for each result, and a last one for the verdict. Raises `JobFailed`."""
        # Once: a step that is kept at each take would hide that a run is what ends its processes.
        if self.replay.status == ReplayStatus.QUEUED:
            yield self._step(keep=self._begin)
        try:
            if self.todo or self.lanes:
                yield from self._probe()
            yield from self._replay_all()
        finally:
            self.crew.stop()
        yield self._step(keep=self._keep_verdict)

    def _begin(self) -> None:
        rows = CohortReplay.objects.filter(id=self.replay.id, status=ReplayStatus.QUEUED)
        rows.update(status=ReplayStatus.RUNNING)

    def _probe(self) -> Iterator[Step | Beat]:
        """Ask the models once whether they are there: one that is unknown is no regression of 50 runs."""
        if self.job.cursor.get(IS_PROBED):
            return
        for agent in self.agents if self.replay.baseline else self.agents[:1]:
            ask = partial(
                ask_whether_there, agent, run_id=str(self.replay.id), is_unwanted=self._is_unwanted
            )
            self.crew.begin(NO_PLACE, ask)
            while (ended := self.crew.next_ended(seconds=BEAT_SECONDS)) is None:
                yield Beat()
            ended.check()
        self.job.cursor = {**self.job.cursor, IS_PROBED: True}
        yield self._step()

    def _replay_all(self) -> Iterator[Step | Beat]:
        """As many side by side as there may be, the next as soon as one has ended."""
        while self._fill() or self.crew.at_work:
            ended = self.crew.next_ended(seconds=BEAT_SECONDS)
            yield Beat() if ended is None else self._step(keep=self._kept(ended))
        if self.todo:
            self._skip_rest()
            yield self._step(keep=self._keep_skipped)

    def _fill(self) -> bool:
        """Begin what may be begun; whether anything was."""
        before = len(self.crew.at_work)
        while len(self.crew.at_work) < settings.LIYAGENT.replay_parallel:
            if not self.lanes and self.todo and self._may_begin():
                run_id = self.todo.popleft()
                self.lanes += [(run_id, lane) for lane in range(1 + self.replay.baseline)]
            if not self.lanes:
                break
            run_id, lane = place = self.lanes.popleft()
            agent = self.agents[1 if lane else 0]
            self.crew.begin(
                place,
                partial(
                    replay_lane, self.recordings, run_id, agent,
                    strict=self.replay.strict, is_unwanted=self._is_unwanted, budget=self.budget,
                ),
            )  # fmt: skip
        return len(self.crew.at_work) > before

    def _may_begin(self) -> bool:
        """Whether the caps leave room: what runs under way took then, they are about to take again."""
        at_work = [self.expected[it[0]] for it in self.crew.at_work]
        calls = self.budget.calls + sum(it[0] for it in at_work)
        tokens = self.budget.tokens + sum(it[1] for it in at_work)
        replay = self.replay
        has_calls = not replay.most_calls or calls < replay.most_calls
        return has_calls and (not replay.most_tokens or tokens < replay.most_tokens)

    def _kept(self, ended: Ended[Place, Made | Skipped | None]) -> Keep:
        """Take note of what ended, and return what keeps it."""
        ended.check()
        run_id, lane = ended.key
        self.kept += 1
        if isinstance(ended.made, Skipped):
            self._skip(run_id, ended.made.reason)
        if not any(it[0] == run_id for it in (*self.lanes, *self.crew.at_work)):
            self.recordings.drop(run_id)
        if not isinstance(ended.made, Made):
            return self._keep_skipped
        self._look_at_model(ended.made)
        if not lane:
            self.verdicts[ended.made.diff["verdict"]] += 1
        return partial(self._keep, run_id, lane, ended.made)

    def _look_at_model(self, made: Made) -> None:
        is_away = made.error == EndError.MODEL_UNAVAILABLE
        self.unanswered = self.unanswered + 1 if is_away else 0
        if self.unanswered >= MOST_UNANSWERED:
            raise JobFailed(f"the model does not answer: {made.reason}")

    def _skip(self, run_id: UUID, reason: str) -> None:
        """All lanes of a run are skipped with it."""
        left = [it for it in self.lanes if it[0] == run_id]
        self.kept += len(left)
        for place in left:
            self.lanes.remove(place)
        if not any(it["run"] == str(run_id) for it in self.replay.skipped):
            self.replay.skipped = [*self.replay.skipped, {"run": str(run_id), "reason": reason}]

    def _skip_rest(self) -> None:
        """A cap was reached, and nothing is under way any more."""
        cap = "model calls" if self.replay.most_calls and self.budget.calls >= self.replay.most_calls else "tokens"  # fmt: skip
        rest = [{"run": str(it), "reason": CAPPED.format(cap=cap)} for it in self.todo]
        self.kept += len(rest) * (1 + self.replay.baseline)
        self.replay.skipped = [*self.replay.skipped, *rest]
        self.todo.clear()

    def _keep_skipped(self) -> None:
        CohortReplay.objects.filter(id=self.replay.id).update(skipped=self.replay.skipped)

    def _keep_verdict(self) -> None:
        give_verdict(self.replay.id)

    def _keep(self, run_id: UUID, lane: int, made: Made) -> None:
        number = self.replay.runs.index(str(run_id)) * (1 + self.replay.baseline) + lane
        key_id, sealed = sealed_words(made.words, cohort=self.replay.id, number=number)
        Replayed.objects.create(
            cohort=self.replay,
            run_id=run_id,
            lane=lane,
            number=number,
            status=made.status,
            error=made.error,
            verdict=made.diff["verdict"],
            diff=made.diff,
            key_id=key_id,
            sealed=sealed,
            created_at=NOW,
        )
        transaction.on_commit(RUNS_REPLAYED.of(made.diff["verdict"]).inc)

    def _step(self, keep: Keep = nothing) -> Step:
        total = len(self.replay.runs) * (1 + self.replay.baseline)
        told = ", ".join(f"{number} {verdict}" for verdict, number in sorted(self.verdicts.items()))
        return Step(
            cursor=self.job.cursor,
            done=self.kept,
            total=total,
            words=f"{self.kept} of {total} replays{f': {told}' if told else ''}",
            result=dict(self.verdicts),
            keep=keep,
        )

    def _is_unwanted(self) -> bool:
        return self.crew.is_over


def carry_replay(job: Job) -> Iterator[Step | Beat]:
    """Yield the steps that are left of a cohort replay. Raises `JobFailed` where it may not go on."""
    replay = CohortReplay.objects.filter(id=job.params["replay"]).first()
    if replay is None or replay.status not in LIVE:
        return
    if refusal := refusal_now(replay):
        raise JobFailed(refusal)
    config = ConfigVersion.objects.values_list("version", flat=True).get()
    own = agent_now(replay.agent_key, config=config)
    if own is None or own.version != replay.agent_version:
        raise JobFailed(f"agent {replay.agent_key} was saved meanwhile; ask again")
    yield from _taken_up(job, replay, own).steps()


def settle_left(job: Job) -> float:
    """What a job that ended otherwise than done leaves is ended as the job was; nothing is owed after that."""
    with transaction.atomic(durable=True):
        reason = job.reason or LEFT
        end_replay(UUID(job.params["replay"]), status_after(job), reason, actor=job.asked_by)
    return 0.0


def _taken_up(job: Job, replay: CohortReplay, own: AgentNow) -> Carrying:
    """Go on from what is kept."""
    ids = [UUID(it) for it in replay.runs]
    results = list(Replayed.objects.filter(cohort=replay).values("run_id", "lane", "verdict", "diff"))  # fmt: skip
    done = {(it["run_id"], it["lane"]) for it in results}
    begun, skipped = {it[0] for it in done}, {it["run"] for it in replay.skipped}
    places = 1 + replay.baseline
    budget = Budget(most_calls=replay.most_calls, most_tokens=replay.most_tokens)
    for it in results:
        budget.spend(calls=it["diff"]["steps"]["now"], tokens=tokens_now(it["diff"]))
    left = [it for it in ids if str(it) not in skipped]
    return Carrying(
        job=job,
        replay=replay,
        agents=(replace(own, **replay.override), own),
        crew=Crew(name="cohort replay", stamp=stamp_of(job)),
        budget=budget,
        expected=_expected(ids),
        todo=deque(it for it in left if it not in begun),
        lanes=deque(it for it in product(left, range(places)) if it[0] in begun and it not in done),
        verdicts=Counter(it["verdict"] for it in results if not it["lane"]),
        kept=len(done) + (len(ids) - len(left)) * places,
    )


def _expected(ids: list[UUID]) -> dict[UUID, tuple[int, int]]:
    """Model calls and tokens that each run took then; none where it is not kept any more."""
    rows = Run.objects.filter(id__in=ids)
    found = rows.values_list("id", "model_steps", "input_tokens", "output_tokens")
    return dict.fromkeys(ids, (0, 0)) | {it[0]: (it[1], it[2] + it[3]) for it in found}


HANDLERS[KIND] = Handler(
    steps=carry_replay,
    keeps_turn=True,
    after_end=settle_left,
    report="admin:replays_cohortreplay_changelist",
)
