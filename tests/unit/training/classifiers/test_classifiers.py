"""A classifier learns from examples or from past runs, is measured on what was held out, and says which label fits."""

from __future__ import annotations

from typing import Any

import pytest

from liyagent.core.errors import BadInput
from liyagent.jobs.models import Job
from liyagent.training.classifiers import train as training
from liyagent.training.classifiers.ask import ask_training
from liyagent.training.classifiers.bayes import accuracy, probabilities, split, train
from liyagent.training.classifiers.classify import classify, remove_classifier
from liyagent.training.classifiers.errors import ClassifierUnknown, ExamplesInvalid
from liyagent.training.classifiers.examples import checked
from liyagent.training.classifiers.models import Classifier, TrainingInput
from liyagent.training.spans import span_of
from tests.unit.runs.carrying.conftest import says
from tests.unit.training.conftest import School

PRINTERS = [f"the printer on floor {it} is out of paper and blinks" for it in range(30)]
DISKS = [f"disk of server db-{it} is full, no space left" for it in range(30)]
EXAMPLES = [*((it, "printers") for it in PRINTERS), *((it, "disks") for it in DISKS)]


def trained(school: School, **facts: Any) -> Job:
    job = ask_training("queue", asked_by="cli:olga", **(facts or {"examples": EXAMPLES})).job
    school.work()
    job.refresh_from_db()
    return job


def test_what_was_learned_is_measured_kept_and_asked(school: School) -> None:
    job = trained(school)
    assert (job.status, job.reason) == ("done", "")
    row = Classifier.objects.get()
    assert (row.version, row.trained_on + row.measured_on) == (1, 60)
    assert (row.accuracy, job.result["accuracy"]) == (1.0, 1.0)
    assert row.baseline is not None
    assert row.baseline < 1
    found = classify("queue", "No space left on the DISK of web-3")
    assert (found.label, found.version) == ("disks", 1)
    assert found.likeliest[0][1] > 0.9
    assert sum(it for _, it in found.likeliest) == pytest.approx(1)
    assert b"printer" not in bytes(row.sealed)
    school.after_end()
    assert not TrainingInput.objects.exists()


def test_each_training_is_a_version_and_the_last_twenty_are_kept(school: School, monkeypatch: pytest.MonkeyPatch) -> None:  # fmt: skip
    monkeypatch.setattr(training, "MOST_VERSIONS", 2)
    for _ in range(3):
        trained(school)
    assert sorted(Classifier.objects.values_list("version", flat=True)) == [2, 3]
    assert classify("queue", "printer", version=2).version == 2
    with pytest.raises(ClassifierUnknown, match="of version 1"):
        classify("queue", "printer", version=1)
    assert remove_classifier("queue", actor="olga") == 2
    with pytest.raises(ClassifierUnknown):
        classify("queue", "printer")


def test_past_runs_teach_which_agent_a_task_belongs_to(school: School) -> None:
    for number in range(12):
        school.ran(says("done"), task=PRINTERS[number])
    school.world.sql("UPDATE runs_run SET agent_key = 'disks' WHERE id IN (SELECT id FROM runs_run LIMIT 6)")  # fmt: skip
    since, until = span_of("", "")
    job = trained(school, runs={"since": since, "until": until, "agents": []})
    # What a run is sealed by does not hang on the agent's name.
    assert (job.status, job.reason, job.done) == ("done", "", 12)
    assert set(Classifier.objects.get().labels) == {"disks", "triage"}


@pytest.mark.promise("CR-31")
def test_one_whose_process_stops_ends_interrupted_and_its_examples_go(school: School, monkeypatch: pytest.MonkeyPatch) -> None:  # fmt: skip
    job = ask_training("queue", asked_by="cli:olga", examples=EXAMPLES).job

    def die(_examples: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(training, "train", die)
        with pytest.raises(KeyboardInterrupt):
            school.work()
    school.die()
    school.work()
    job.refresh_from_db()
    assert (job.status, "its process stopped" in job.reason) == ("interrupted", True)
    assert not Classifier.objects.exists()
    school.after_end()
    assert not TrainingInput.objects.exists()
    stopped = ask_training("queue", asked_by="cli:olga", examples=EXAMPLES).job
    looks = iter([False, True, True])
    school.work(lambda: next(looks))
    stopped.refresh_from_db()
    assert stopped.status == "interrupted"
    assert trained(school).status == "done"


def test_asked_twice_it_is_one_training_and_nothing_is_left_over(school: School) -> None:
    first = ask_training("queue", asked_by="cli:olga", examples=EXAMPLES)
    again = ask_training("queue", asked_by="cli:olga", examples=EXAMPLES)
    assert (first.is_new, again.is_new, again.job.id) == (True, False, first.job.id)
    assert TrainingInput.objects.count() == 1


def test_who_may_not_read_words_any_more_trains_on_no_runs(school: School) -> None:
    since, until = span_of("", "")
    job = ask_training("queue", asked_by="gone", runs={"since": since, "until": until, "agents": []}).job  # fmt: skip
    school.work()
    job.refresh_from_db()
    assert (job.status, "no active user" in job.reason) == ("failed", True)


@pytest.mark.parametrize(("given", "told"), [
    ({"text": "x"}, "wants a list"),
    ([{"text": "x"}], r"examples\[0\] wants text and label"),
    ([{"text": "x", "label": 7}], r"examples\[0\] wants text and label"),
    ([{"text": " ", "label": "a"}], r"examples\[0\] wants text and label"),
    ([{"text": "x" * 20_001, "label": "a"}], "too long"),
    ([{"text": "x", "label": "a"}] * 3, "10 examples at least"),
    ([{"text": "x", "label": "a"}] * 20, "2 to 100 labels"),
    ([*([{"text": "x", "label": "a"}] * 20), {"text": "y", "label": "b"}], "each label wants 2"),
])  # fmt: skip
def test_examples_that_teach_nothing_are_refused(given: Any, told: str) -> None:
    with pytest.raises(ExamplesInvalid, match=told):
        checked(given)


def test_a_key_that_is_none_is_refused(school: School) -> None:
    with pytest.raises(BadInput, match="key wants"):
        ask_training("no key", asked_by="cli:olga", examples=EXAMPLES)


def test_the_same_text_is_never_on_both_sides() -> None:
    same = [("Printer out of paper", "a"), ("printer OUT of paper", "b")] * 10
    trained_on, held_out = split(same)
    assert not trained_on or not held_out
    assert split(EXAMPLES) == split(EXAMPLES)


def test_a_text_of_no_known_word_is_told_by_how_often_labels_come() -> None:
    model = train([("a1 b1", "often")] * 3 + [("c1 d1", "rare")])
    assert [label for label, _ in probabilities(model, "zz yy")] == ["often", "rare"]
    assert accuracy(model, []) == (None, None)
    assert accuracy(model, [("a1", "often"), ("c1 d1", "rare")]) == (1.0, 0.5)


def test_examples_are_kept_with_their_job_or_not_at_all(school: School, monkeypatch: pytest.MonkeyPatch) -> None:  # fmt: skip
    """A process that dies in between leaves no words that nothing would ever forget."""

    def die(*_about: Any, **_facts: Any) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("liyagent.jobs.ask.keep_job", die)
        with pytest.raises(KeyboardInterrupt):
            ask_training("queue", asked_by="cli:olga", examples=EXAMPLES)
    assert not TrainingInput.objects.exists()
    with monkeypatch.context() as patch:
        patch.setattr(TrainingInput, "save", die)
        with pytest.raises(KeyboardInterrupt):
            ask_training("queue", asked_by="cli:olga", examples=EXAMPLES)
    assert not Job.objects.exists()
