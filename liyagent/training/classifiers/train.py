"""`classifier_training`: read the examples, hold one in five out, learn from the others, and tell how good that is."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from functools import partial
from typing import Any

from django.db.models import Max

from liyagent.access.permissions import OPERATE, READ_WORDS
from liyagent.access.standing import standing_of
from liyagent.core.transactions import require_transaction
from liyagent.jobs.errors import JobFailed
from liyagent.jobs.handlers import HANDLERS, Handler, Step
from liyagent.jobs.models import NOW, Job
from liyagent.training.classifiers.ask import FORMAT, KIND
from liyagent.training.classifiers.bayes import Example, Model, accuracy, split, train
from liyagent.training.classifiers.examples import from_runs, unfit
from liyagent.training.classifiers.models import Classifier, TrainingInput
from runs.checkpoint import keyring
from runs.sealed_rows import SEALED_ROWS, SealedRows

MOST_VERSIONS = 20


def classifier_training(job: Job) -> Iterator[Step]:
    """Yield the steps of a training. Raises `JobFailed`."""
    needed = (OPERATE, READ_WORDS) if "runs" in job.params else (OPERATE,)
    refusal = standing_of(job.asked_by, *needed)
    if refusal:
        raise JobFailed(refusal)
    examples: list[Example] = []
    for more in _read(job):
        examples += more
        yield Step(cursor={}, done=len(examples), words="reading examples")
    why = unfit(examples)
    if why:
        raise JobFailed(why)
    trained_on, held_out = split(examples)
    if len({label for _, label in trained_on}) < 2:
        raise JobFailed("too few different examples are left to learn from once some are held out")
    model = train(trained_on)
    right, baseline = accuracy(model, held_out)
    told: dict[str, Any] = {
        "trained_on": len(trained_on), "measured_on": len(held_out), "accuracy": right, "baseline": baseline,
    }  # fmt: skip
    keep = partial(_keep, job, model, told)
    yield Step(cursor={}, done=len(examples), total=len(examples), words="kept", keep=keep, result=told)  # fmt: skip


def forget_input(job: Job) -> float:
    """Forget the examples once the job has ended."""
    TrainingInput.objects.filter(id=job.params.get("input")).delete()
    return 0.0


def _read(job: Job) -> Iterator[list[Example]]:
    wanted = job.params.get("runs")
    if wanted is not None:
        since, until = (datetime.fromisoformat(wanted[name]) for name in ("since", "until"))
        yield from from_runs(since=since, until=until, agents=wanted["agents"])
        return
    row = TrainingInput.objects.filter(id=job.params["input"]).first()
    if row is None:
        raise JobFailed("the examples are gone; ask anew")
    sealer = keyring().sealer(key_id=row.key_id, run_id=row.id, format_number=FORMAT)
    yield [(text, label) for text, label in sealer.open(row.sealed, kind="examples", number=0)]


def _keep(job: Job, model: Model, told: dict[str, Any]) -> None:
    """The next version; those before the last twenty go."""
    require_transaction("keeping a classifier")
    ring = keyring()
    newest = Classifier.objects.filter(key=job.subject).aggregate(it=Max("version"))["it"] or 0
    sealer = ring.sealer(key_id=ring.newest, run_id=job.id, format_number=FORMAT)
    Classifier.objects.create(
        key=job.subject,
        version=newest + 1,
        labels=model["labels"],
        job_id=job.id,
        key_id=ring.newest,
        sealed=sealer.seal(model, kind="classifier", number=newest + 1),
        trained_by=job.asked_by,
        created_at=NOW,
        **told,
    )
    Classifier.objects.filter(key=job.subject, version__lte=newest + 1 - MOST_VERSIONS).delete()


HANDLERS[KIND] = Handler(
    steps=classifier_training,
    is_resumable=False,
    after_end=forget_input,
    report="admin:classifiers_classifier_changelist",
)
SEALED_ROWS.append(SealedRows(model=TrainingInput, kind="examples", of="id", format_number=FORMAT))
SEALED_ROWS.append(
    SealedRows(
        model=Classifier, kind="classifier", of="job_id", number="version", format_number=FORMAT
    )
)
