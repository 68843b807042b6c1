"""The hot path's tables. Their writes stand in `sql/`; these classes are for reading and for migrations."""

from __future__ import annotations

from django.db import models
from django.db.models import Q

from liyagent.agents.models import Recording

CHECKPOINT_FORMAT = 1
# Of runs that a release before these did not know how to carry: workflows and compensations (ruling 14).
MINDED_FORMAT = 2
ROOT_LOOP = "root"


class RunStatus(models.TextChoices):
    """Where a run stands. Paused: its sealing key is missing everywhere. Declined: the model refused."""

    QUEUED = "queued"
    RUNNING = "running"
    WAITING = "waiting"
    PAUSED = "paused"
    ANSWERED = "answered"
    DECLINED = "declined"
    FAILED = "failed"
    STOPPED = "stopped"
    INTERRUPTED = "interrupted"


ENDED = (
    RunStatus.ANSWERED,
    RunStatus.DECLINED,
    RunStatus.FAILED,
    RunStatus.STOPPED,
    RunStatus.INTERRUPTED,
)


class Run(models.Model):
    """The fenced head of a run: every write of an attempt locks and matches (id, attempt, `running`).

    `sequence` counts the attempt's writes, so that one asked again after a lost answer is known.
    `error` is the code of why it ended otherwise than answered; `cost_micros` millionths of the price file's unit.
    `settle_after` is when an unkeyed write in doubt may be read back; `not_before` when a queued run
    may be taken. `is_written_ahead`: its steps are stored before they are acted on (CR-07). `continues`: the ended
    run that it goes on from, because a person asked for it. `workflow`: the one that it is a run of, "" for an agent's. `seal` closes over steps, parts, last tag and open marks (ruling 15).
    """

    id = models.UUIDField(primary_key=True, editable=False)
    correlation_id = models.UUIDField()
    parent_id = models.UUIDField(null=True, blank=True)
    loop = models.CharField(max_length=64, default=ROOT_LOOP)
    workflow = models.CharField(max_length=80, blank=True, db_default="", default="")
    agent_key = models.CharField(max_length=80)
    agent_version = models.PositiveIntegerField()
    entry = models.CharField(max_length=40)
    mission = models.CharField(max_length=128)
    request_id = models.CharField(max_length=128, blank=True)
    started_by = models.CharField(max_length=150, blank=True)
    recording = models.CharField(max_length=10, choices=Recording.choices)
    status = models.CharField(max_length=12, choices=RunStatus.choices, default=RunStatus.QUEUED)
    reason = models.TextField(blank=True)
    error = models.CharField(max_length=60, blank=True, db_default="", default="")
    format = models.SmallIntegerField(default=CHECKPOINT_FORMAT)
    key_id = models.CharField(max_length=64)
    attempt = models.IntegerField(default=0)
    holder = models.UUIDField(null=True, blank=True)
    losses = models.SmallIntegerField(default=0)
    last_loss = models.CharField(max_length=20, blank=True)
    handovers = models.IntegerField(default=0)
    resumes_recorded = models.IntegerField(default=0)
    sequence = models.BigIntegerField(default=0)
    wakes = models.IntegerField(default=0)
    settle_after = models.DateTimeField(null=True, blank=True)
    not_before = models.DateTimeField(null=True, blank=True)
    events_missing = models.IntegerField(default=0)
    timeline = models.IntegerField(default=0)
    model_steps = models.IntegerField(default=0)
    calls_made = models.IntegerField(default=0)
    input_tokens = models.BigIntegerField(default=0)
    output_tokens = models.BigIntegerField(default=0)
    cost_micros = models.BigIntegerField(db_default=0, default=0)
    parts = models.IntegerField(default=1)
    seal = models.BinaryField()
    is_written_ahead = models.BooleanField(default=True, db_default=True)
    continues = models.UUIDField(null=True, blank=True)
    stop_requested = models.BooleanField(default=False)
    stopped_by = models.CharField(max_length=150, blank=True)
    created_at = models.DateTimeField()
    taken_at = models.DateTimeField(null=True, blank=True)
    ended_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ("-created_at",)
        constraints = (
            models.CheckConstraint(name="runs_status", condition=Q(status__in=RunStatus.values)),
            models.CheckConstraint(
                name="runs_running_has_holder",
                condition=Q(status="running", holder__isnull=False)
                | (~Q(status="running") & Q(holder__isnull=True)),
            ),
            models.UniqueConstraint(
                name="runs_one_child_per_delegation", fields=["correlation_id", "loop"]
            ),
            # One at a time goes on from a run; one that answered is the last.
            models.UniqueConstraint(
                name="runs_one_continuation",
                fields=["continues"],
                condition=Q(continues__isnull=False)
                & ~Q(status__in=["declined", "failed", "stopped", "interrupted"]),
            ),
        )
        indexes = (
            models.Index(
                fields=["created_at"],
                name="runs_queued_fresh",
                condition=Q(status="queued", attempt=0, not_before__isnull=True),
            ),
            models.Index(
                fields=["created_at"],
                name="runs_queued_again",
                condition=Q(status="queued", attempt__gt=0, not_before__isnull=True) & ~Q(losses=2),
            ),
            models.Index(
                fields=["not_before"],
                name="runs_queued_timed",
                condition=Q(status="queued", not_before__isnull=False) & ~Q(losses=2),
            ),
            models.Index(
                fields=["stop_requested", "not_before", "created_at"],
                name="runs_queued_alone",
                condition=Q(status="queued", losses=2),
            ),
            models.Index(fields=["holder"], name="runs_by_holder", condition=Q(status="running")),
            models.Index(
                fields=["status", "key_id"],
                name="runs_waiting_by_key",
                condition=Q(status__in=["queued", "paused"]),
            ),
            models.Index(fields=["agent_key", "-created_at"], name="runs_by_agent"),
            models.Index(fields=["-created_at", "-id"], name="runs_newest"),
            models.Index(
                fields=["continues", "-id"],
                name="runs_continuations",
                condition=Q(continues__isnull=False),
            ),
            models.Index(
                fields=["workflow", "-created_at", "-id"],
                name="runs_of_workflow",
                condition=~Q(workflow=""),
            ),
            models.Index(fields=["mission", "-created_at", "-id"], name="runs_of_mission"),
            models.Index(
                fields=["error", "-created_at", "-id"],
                name="runs_by_error",
                condition=~Q(error=""),
            ),
            # Most runs are answered, and then in no index of statuses. No step changes what stands in these.
            models.Index(
                fields=["status", "-created_at", "-id"],
                name="runs_by_status",
                condition=~Q(status="answered"),
            ),
        )

    def __str__(self) -> str:
        return str(self.id)

    @property
    def is_ended(self) -> bool:
        """Whether nothing of it runs again."""
        return self.status in ENDED


class Part(models.Model):
    """What one step added to the conversation, sealed and chained to the part before.

    Goes when the run ends, unless it was recorded in full: then its parts are its transcript.
    """

    pk = models.CompositePrimaryKey("run_id", "number")
    run_id = models.UUIDField()
    number = models.IntegerField()
    kind = models.CharField(max_length=10)
    sealed = models.BinaryField()

    class Meta:
        ordering = ("run_id", "number")

    def __str__(self) -> str:
        return f"{self.run_id} part {self.number}"


class Intent(models.TextChoices):
    """What a mark stood for: about to be sent, or held for a person."""

    SENDING = "sending"
    HELD = "held"


class Call(models.Model):
    """A call that was marked in doubt before it left. Unsettled while `fate` is empty.

    `marked_at` is the first marking and never moves; `deadline` is the last mark's own send
    deadline; `sealed` are the exact bytes sent; `outcome` what it came back with, sealed. `settled_by`
    and `settled_reason`: the person who said what happened, where nobody else could, and why.
    """

    run_id = models.UUIDField()
    correlation_id = models.UUIDField()
    step = models.IntegerField()
    index = models.IntegerField()
    provider_call_id = models.CharField(max_length=200, blank=True)
    server = models.CharField(max_length=80)
    tool = models.CharField(max_length=200)
    intent = models.CharField(max_length=10, choices=Intent.choices)
    approval_id = models.UUIDField(null=True, blank=True)
    step_key = models.CharField(max_length=80)
    has_identity = models.BooleanField()
    key_window_seconds = models.IntegerField(default=0)
    intent_digest = models.CharField(max_length=64)
    attempt = models.IntegerField()
    holder = models.UUIDField()
    marked_at = models.DateTimeField()
    deadline = models.DateTimeField()
    sealed = models.BinaryField()
    fate = models.CharField(max_length=10, blank=True)
    settlement = models.CharField(max_length=40, blank=True)
    outcome = models.BinaryField(null=True, blank=True)
    settled_at = models.DateTimeField(null=True, blank=True)
    late_look_at = models.DateTimeField(null=True, blank=True)
    late_finding = models.CharField(max_length=20, blank=True)
    settled_by = models.CharField(max_length=150, blank=True, db_default="", default="")
    settled_reason = models.CharField(max_length=500, blank=True, db_default="", default="")

    class Meta:
        ordering = ("run_id", "step", "index")
        permissions = (("settle_call", "Can say what happened to a call in doubt"),)
        constraints = (
            models.UniqueConstraint(
                name="runs_one_mark_per_call", fields=["run_id", "step", "index"]
            ),
            models.CheckConstraint(name="runs_call_intent", condition=Q(intent__in=Intent.values)),
            models.CheckConstraint(
                name="runs_call_fate",
                condition=Q(fate__in=["", "done", "failed", "refused", "held", "unknown"]),
            ),
        )
        indexes = (
            models.Index(
                fields=["correlation_id", "intent_digest"],
                name="runs_unknown_intent",
                condition=Q(fate="unknown"),
            ),
            models.Index(
                fields=["late_look_at"],
                name="runs_late_look",
                condition=Q(late_look_at__isnull=False),
            ),
            # A million calls with ten in doubt: ten entries, the oldest of each fate first. The rule: runs/unsettled.py.
            models.Index(
                fields=["fate", "marked_at", "id"],
                name="runs_sent_in_doubt",
                condition=(
                    Q(fate="unknown") | (Q(fate="") & Q(intent="sending") & ~Q(server="agents"))
                )
                & ~Q(late_finding="found"),
            ),
            models.Index(
                fields=["correlation_id", "intent_digest"],
                name="runs_happened_intent",
                condition=Q(fate="done", settlement="by_person"),
            ),
        )

    def __str__(self) -> str:
        return f"{self.server}/{self.tool} of {self.run_id}"


class StartKey(models.Model):
    """A client's `Idempotency-Key`: the first start it named, for as long as the row is kept."""

    owner = models.CharField(max_length=150)
    agent_key = models.CharField(max_length=80)
    key = models.CharField(max_length=255)
    body_digest = models.CharField(max_length=64)
    run_id = models.UUIDField()
    created_at = models.DateTimeField()

    class Meta:
        constraints = (
            models.UniqueConstraint(
                name="runs_one_start_per_key", fields=["owner", "agent_key", "key"]
            ),
        )

    def __str__(self) -> str:
        return self.key
