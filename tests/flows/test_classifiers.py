"""A classifier over the API, in the console and at the shell."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client

from liyagent.core.errors import LiyagentError
from liyagent.jobs.models import Job
from liyagent.leases.own import OWN
from liyagent.training.classifiers.models import Classifier
from tests.flows.conftest import Api, api_of, make_user
from tests.flows.test_sources import shell, work
from tests.unit.training.classifiers.test_classifiers import EXAMPLES

ONE = "/api/classifiers/queue"
GIVEN = [{"text": text, "label": label} for text, label in EXAMPLES]


@pytest.fixture(autouse=True)
def alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(OWN, "holder", None)


def test_it_is_trained_shown_asked_and_removed(operator: Api) -> None:
    asked = operator.post(f"{ONE}/train", {"examples": GIVEN})
    assert (asked.status, asked.data["is_new"]) == (202, True)
    assert asked.data["job"]["kind"] == "classifier_training"
    work()
    (shown,) = operator.get(ONE).data["versions"]
    assert (shown["version"], shown["accuracy"]) == (1, 1.0)
    assert "sealed" not in shown
    viewer = api_of(make_user("vera", "agents.view_agent"))
    told = viewer.post(f"{ONE}/classify", {"text": "the printer blinks"}).data
    assert (told["classifier"], told["version"], told["label"]) == ("queue", 1, "printers")
    assert {it["label"] for it in told["likeliest"]} == {"printers", "disks"}
    assert viewer.send("DELETE", ONE).status == 403
    assert operator.send("DELETE", ONE).status == 204
    assert operator.get(ONE).data["code"] == "classifiers.not_found"


def test_what_cannot_be_used_is_told(operator: Api, reader: Api) -> None:
    wrong: Any
    for wrong in ({}, [], {"examples": []}, {"examples": GIVEN, "runs": {}}, {"x": 1}, {"examples": [{"text": 1}]}):  # fmt: skip
        assert operator.post(f"{ONE}/train", wrong).status == 400
    assert operator.post(f"{ONE}/train", {"runs": {}}).status == 403
    assert reader.post(f"{ONE}/train", {"runs": {"since": "soon"}}).status == 400
    assert reader.post(f"{ONE}/train", {"runs": []}).status == 400
    assert reader.post(f"{ONE}/train", {"runs": {"since": "2026-01-01"}}).status == 202
    assert operator.post("/api/classifiers/no%20key/train", {"examples": GIVEN}).status == 400
    assert operator.post(f"{ONE}/classify", {"text": "x"}).status == 404
    assert operator.post(f"{ONE}/classify", {}).status == 400
    assert Api().post(f"{ONE}/classify", {"text": "x"}).status == 401
    assert Job.objects.count() == 1


def test_the_shell_trains_lists_asks_and_removes(operator: Api, tmp_path: Path) -> None:
    file = tmp_path / "examples.jsonl"
    file.write_text("\n".join(json.dumps(it) for it in GIVEN) + "\n\n")
    assert "is asked for" in shell("classifier", "train", "queue", str(file))
    work()
    assert "100%" in shell("classifier", "list")
    assert shell("classifier", "classify", "queue", "disk full").split()[1] == "disks"
    assert "accuracy" in shell("jobs", "show", str(Job.objects.get().id))
    with pytest.raises(LiyagentError, match="there is no classifier 'qeue'; there are: queue"):
        shell("classifier", "classify", "qeue", "x")
    assert shell("classifier", "remove", "queue") == "queue: 1 versions removed\n"
    assert "is asked for" in shell("classifier", "train", "queue", "--runs", "--since=2026-01-01")
    file.write_text("no json\n")
    for wrong in (["train", "queue"], ["train", "queue", str(file)], ["classify", "none", "x"]):
        with pytest.raises(LiyagentError):
            shell("classifier", *wrong)


def test_the_console_shows_how_good_it_is(operator: Api) -> None:
    operator.post(f"{ONE}/train", {"examples": GIVEN})
    work()
    User.objects.create_superuser("root", password="x")
    console = Client()
    console.force_login(User.objects.get(username="root"))
    listed = console.get("/admin/classifiers/classifier/").content.decode()
    assert "100% of" in listed
    one = console.get(f"/admin/classifiers/classifier/{Classifier.objects.get().pk}/change/")
    assert "printers: " in one.content.decode()
