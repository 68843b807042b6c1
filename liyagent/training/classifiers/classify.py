"""Say which label a text fits."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from uuid import UUID

from django.db import transaction

from liyagent.audit.record import record
from liyagent.training.classifiers.ask import FORMAT
from liyagent.training.classifiers.bayes import Model, probabilities
from liyagent.training.classifiers.errors import ClassifierUnknown
from liyagent.training.classifiers.models import Classifier
from runs.checkpoint import keyring

MOST_TOLD = 5
MOST_NAMED = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Classified:
    """The likeliest labels with their probabilities, at most five, and which version said so."""

    version: int
    likeliest: list[tuple[str, float]]

    @property
    def label(self) -> str:
        """The likeliest."""
        return self.likeliest[0][0]


def classify(key: str, text: str, *, version: int | None = None) -> Classified:
    """Return what the newest version, or another, says. Raises `ClassifierUnknown`, and as a seal is opened."""
    row = find_classifier(key, version=version)
    model = _model(row.job_id)
    return Classified(version=row.version, likeliest=probabilities(model, text)[:MOST_TOLD])


def find_classifier(key: str, *, version: int | None = None) -> Classifier:
    """Return a version of a classifier, the newest unless one is named. Raises `ClassifierUnknown`."""
    rows = Classifier.objects.filter(key=key.replace("\x00", "")).defer("sealed")
    found = (rows if version is None else rows.filter(version=version)).order_by("-version").first()
    if found is None:
        which = "" if version is None else f" of version {version}"
        keys = Classifier.objects.order_by("key").values_list("key", flat=True).distinct()
        known = ", ".join(keys[:MOST_NAMED]) or "none yet"
        raise ClassifierUnknown(f"there is no classifier {key[:80]!r}{which}; there are: {known}")
    return found


def remove_classifier(key: str, *, actor: str) -> int:
    """Forget every version of a classifier, and return how many went. Raises `ClassifierUnknown`."""
    with transaction.atomic(durable=True):
        find_classifier(key)
        count, _ = Classifier.objects.filter(key=key).delete()
        record("classifier.removed", actor=actor, detail={"classifier": key, "versions": count})
    return count


@lru_cache(maxsize=16)
def _model(job_id: UUID) -> Model:
    """Opened once a process: what a job made never changes."""
    row = Classifier.objects.get(job_id=job_id)
    sealer = keyring().sealer(key_id=row.key_id, run_id=row.job_id, format_number=FORMAT)
    model: Model = sealer.open(row.sealed, kind="classifier", number=row.version)
    return model
