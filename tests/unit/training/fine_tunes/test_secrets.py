"""No secret leaves with the words."""

from __future__ import annotations

import pytest

from liyagent.core.secret_words import Starring
from tests.fakes.fine_tuning_endpoint import FineTuningEndpoint
from tests.unit.runs.carrying.conftest import calls, says
from tests.unit.training.conftest import School
from tests.unit.training.fine_tunes.conftest import KEY, asked

SHAPED = (
    "sk-proj-4fK29dkS93kdkSDLkd9",
    "ghp_16C7e42F292c6912E7710c838347Ae178B4a",
    "glpat-9dkSDLkd93kdkSDLkd",
    "xoxb-1234567890-abcdefghij",
    "AKIAIOSFODNN7EXAMPLE",
    "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.dozjgNryP4J3jVmNHl0w5N",
    "-----BEGIN RSA PRIVATE KEY-----\nMIIEow\n-----END RSA PRIVATE KEY-----",
)


@pytest.mark.parametrize("secret", SHAPED)
def test_what_looks_like_a_secret_is_starred_out(secret: str) -> None:
    starring = Starring()
    said = starring.text(f"use {secret} for it")
    assert (secret in said, "[secret]" in said, starring.count > 0) == (False, True, True)
    assert said.startswith("use ")


@pytest.mark.parametrize(("text", "shown"), [
    ("password: hunter2!", "password: [secret]"),
    ('{"db_password": "hunter2"}', '{"db_password": "[secret]"}'),
    ("API_KEY=abcd1234 next", "API_KEY=[secret] next"),
    ("Authorization: Bearer abc.def", "Authorization: Bearer [secret]"),
    ("postgres://app:hunter2@db/x", "postgres://app:[secret]@db/x"),
    ("reset the password of anna", "reset the password of anna"),
    ("max_tokens: 500", "max_tokens: 500"),
    ("it took 500 tokens", "it took 500 tokens"),
])  # fmt: skip
def test_a_value_that_is_named_like_a_secret_is_starred_out_and_ordinary_words_stay(text: str, shown: str) -> None:  # fmt: skip
    assert Starring().text(text) == shown


def test_plain_data_is_starred_by_name_and_shape() -> None:
    given = {"user": "anna", "password": "x", "more": [{"token": "y"}, SHAPED[0], 7]}
    assert Starring().plain(given) == {
        "user": "anna", "password": "[secret]", "more": [{"token": "[secret]"}, "[secret]", 7],
    }  # fmt: skip


def test_no_secret_is_in_the_file(school: School, endpoint: FineTuningEndpoint) -> None:
    school.recorded(10)
    school.ran(
        calls(("v/look", {"text": f"with {KEY}", "password": "plumtree-7"})),
        says(f"the key is {SHAPED[0]}"),
        task=f"password: plumtree-7, and the key {KEY}",
    )
    job = school.work_through(asked())
    (content,) = endpoint.contents.values()
    assert job.status == "done"
    for secret in (KEY, SHAPED[0], "plumtree-7"):
        assert secret.encode() not in content
    assert job.result["secrets_starred"] >= 5
    assert b"[secret]" in content
