"""Nothing that looks secret or personal is written into a routine, wherever it stands (ruling 42, FL-93)."""

from __future__ import annotations

import json
import os
import time
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from liyagent.core.bounded_regex import BoundedRegex
from liyagent.gateway.data_rules import DataRule, read_path
from routines.compile import compile_routine
from routines.compiled import Compiled
from routines.recorded import RecordedCall, RecordedRun
from routines.score import score
from routines.secret_names import is_sensitive_name
from routines.secrets import Looking
from tests.unit.routines.drawn import KEYS, SCALARS, all_of, carried_out

TABLES = int(os.environ.get("ROUTINE_TABLES", "150"))
SECRETS = (
    "sk-proj-a8f5f167f44f4964e6c998dee827110c", "ghp_16C7e42F292c6912E7710c838347Ae178B4a", "glpat-a1B2c3D4e5F6g7H8i9J0",
    "xoxb-123456789012-abcdefGHIJ", "AKIAIOSFODNN7EXAMPLE", "k-live-7731abcd", "anna.schmidt@example.com", "+49 30 12345678",
    "DE89370400440532013000", "DE89 3704 0044 0532 0130 00", "4111 1111 1111 1111", "4111111111111111",
    "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.c2lnbmF0dXJl", "Bearer abcdef0123456789", "https://bot:hunter22@git.example.com/x",
    "password: hunter22", "api_key=zebra-meadow", "-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBgkq\n-----END PRIVATE KEY-----",
    "redis://:zebra@h/0", "https://h.example.com/x?sig=zebra", "https://h.example.com/x?key=zebra", '{"pin": 4711}', '{"first_name":"Anna"}',
    '{"body": "{\\"passwort\\": \\"zebra\\"}"}', "passwort: zebra", "Contraseña = zebra",
    "пароль: zebra", "password is zebra", "pin 4711", "secret_key=zebra", "password_confirm: zebra", "password: 12345678", "DB_PASS=zebra",
    "mysql -u root -pzebra", "curl -u bot:zebra https://h.example.com", "anna.schmidt%40example.com", "password%3Dzebra",
    "cGFzc3dvcmQ6IHplYnJhemVicmE=", "<Kennwort art='x'>zebra</Kennwort>", "password => 'zebra'", "password\n zebra7",
    "d41d8cd98f00b204e9800998ecf8427e", "--password hunter22", "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "Cookie: sid=zebra7meadow",
)  # fmt: skip
# These look like nothing; the name that they stand under tells.
OPAQUE = ("zebra-meadow", "hunter22", "correct horse", "k-7731")
SECRET_NAMES = (
    "password", "X-Api-Key", "apiKey", "client_secret", "Authorization", "auth_token", "db.password", "accessKey", "passphrase",
    "passwort", "Kennwort", "contraseña", "mot_de_passe", "motDePasse", "wachtwoord", "пароль", "密码", "hasło", "user_passwort", "secretKey",
    "SIGNING_KEY", "sshKey", "pass", "pw", "password_confirm", "passwordHash", "password2", "new_password_again", "token_value", "api_key_2",
    "credentials_json", "authHeader", "email_address", "phoneNo", "telefonnummer", "Geburtsdatum", "vorname", "account_number", "otp_code",
    "private_key_pem", "webhookSecretValue", "\uff30\uff21\uff33\uff33", "connectionString", "DB_PASSWORD_FILE",
    "Cookie", "session_id", "private-key", "PIN", "cvv", "email", "first_name", "lastName", "phoneNumber", "date_of_birth", "ssn",
)  # fmt: skip
HARMLESS = (
    "INC-1001", "payments", "eu-central-1", "https://status.example.com/incidents/12", "2026-11-29T10:00:00+00:00", "Checkout is slow",
    "a8098c1a-f86e-11da-bd1a-00112444be1e", "v1.2.3", "/var/log/app.log", "max_tokens: 512", "service:checkout", "10.0.0.1:8080",
    '{"state": "open", "max_tokens": 512}', "state: open; owner=desk", "https://h.example.com/x?page=2&state=open", "ssh -p 2222 web-7",
    "100%", "<b>bold</b>", "git push -u origin main", "compass: north", "2026-11-29 10:00", "docker run -p 80:80 web",
    "P1", "team/database", "CHG0031337", "kubectl get pods", "#ops-alerts", "mail-eu-west-2.internal.example.com",
)  # fmt: skip


@pytest.mark.parametrize("text", SECRETS)
def test_a_secret_is_seen_alone_and_within_text(text: str) -> None:
    looking = Looking()
    assert looking.is_sensitive(text)
    assert looking.is_sensitive(f"Please look at this: {text} and tell me. " * 3)
    assert looking.is_sensitive("word " * 9000 + text)


@pytest.mark.parametrize("text", HARMLESS)
def test_what_looks_like_an_everyday_word_is_none(text: str) -> None:
    assert not Looking().is_sensitive(text)


@pytest.mark.parametrize("name", SECRET_NAMES)
def test_names_tell(name: str) -> None:
    assert is_sensitive_name(name)


@pytest.mark.parametrize("name", ["id", "user_id", "name", "title", "max_tokens", "tokens", "keyword", "key", "state", "host", "pins", "compass", "author", "description", "has", "address", "ip_address", "country_code", "file", "text_value", "new", "2", "passed", "shipping", "keyboard", "mailbox", "token_count", "Häuser"])  # fmt: skip
def test_other_names_do_not(name: str) -> None:
    assert not is_sensitive_name(name)


@pytest.mark.parametrize("text", ["-----BEGIN ", "a:b ", "--token ", "password ", "x@", "=", "a=", "a b ", "<a ", "%41", "mysql ", "[", '{"a":', "password is ", "A1" * 7 + " ", "{{", "1-", "eyJ", "/:@", "Cookie"])  # fmt: skip
def test_a_long_text_is_looked_through_in_bounded_time(text: str) -> None:
    began = time.thread_time()
    Looking().is_sensitive((text * 65_536)[:65_536])
    assert time.thread_time() - began < 5


def runs_with(args: Any, *, output: Any = None, task: str = "do it") -> list[RecordedRun]:
    """Three runs that all pass the same."""
    call = RecordedCall(server="desk", tool="note", args=args, output=output)
    return [RecordedRun(id=f"r{it}", task=task, calls=(call, call)) for it in range(3)]


def as_it_is(compiled: Compiled, runs: list[RecordedRun]) -> None:
    assert compiled.withheld == ""
    for run in runs:
        assert carried_out(compiled, run) == [it.args for it in run.calls]


def planted(secret: str) -> st.SearchStrategy[Any]:
    """Arguments with a secret somewhere: alone, within a long text, in lists of lists, as a name."""
    text = st.sampled_from((secret, f"See {secret}.", f"{'so it goes ' * 200}{secret}{' and on' * 200}", f"a\n{secret}\nb", f"{{{{ x }}}} {secret}"))  # fmt: skip
    with_more = st.recursive(
        text,
        lambda inner: st.one_of(
            st.tuples(st.lists(SCALARS, max_size=2), inner, st.lists(SCALARS, max_size=2)).map(lambda it: [*it[0], it[1], *it[2]]),
            st.tuples(st.dictionaries(KEYS, SCALARS, max_size=2), KEYS, inner).map(lambda it: {**it[0], it[1]: it[2]}),
            st.tuples(inner, text, SCALARS).map(lambda it: {"note": it[0], it[1]: it[2]}),
        ),
        max_leaves=4,
    )  # fmt: skip
    return st.tuples(st.dictionaries(KEYS, SCALARS, max_size=3), KEYS, with_more).map(lambda it: {**it[0], it[1]: it[2]})  # fmt: skip


@pytest.mark.promise("RT-02")
@pytest.mark.field("FL-93")
@settings(max_examples=TABLES, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.data())
def test_no_secret_is_found_in_anything_that_a_routine_holds(data: st.DataObject) -> None:
    secret = data.draw(st.sampled_from(SECRETS))
    args = data.draw(planted(secret))
    task = data.draw(st.sampled_from(("do it", f"use {secret}")))
    output = data.draw(st.sampled_from(({secret: 1}, {"a": {secret: "x"}}, secret, None)))
    runs = runs_with(args, output=output, task=task)
    held = all_of(compile_routine(runs, agent="desk"))
    assert secret not in held
    assert json.dumps(secret, ensure_ascii=False)[1:-1] not in held
    as_it_is(compile_routine(runs, agent="desk"), runs)
    told = json.dumps(score(compile_routine(runs, agent="desk").definition, runs).plain())
    assert secret not in told


@pytest.mark.field("FL-93")
@settings(max_examples=TABLES, deadline=None)
@given(st.sampled_from(OPAQUE), st.sampled_from(SECRET_NAMES), st.integers(0, 14))
def test_a_secret_that_looks_like_nothing_is_known_by_its_name(
    secret: str, name: str, where: int
) -> None:
    rows: list[dict[str, Any]] = [
        {name: secret}, {"headers": {name: secret}}, {"headers": [{"name": name, "value": secret}]}, {"argv": [name, secret]},
        {name: {"value": [secret]}}, {name: [{"a": {"b": secret}}], "c": 1}, {"list": [[{"key": name, "is": {"value": secret}}]]},
        {"attribute": name, "to": secret}, {"op": "replace", "path": f"/user/{name}", "value": secret}, {"path": ["user", name], "value": secret},
        {"columns": ["user", name], "rows": [["bob", secret]]}, {"headers": [["Accept", "*"], [name, secret]]},
        {"body": json.dumps({"user": {name: secret}})}, {"body": json.dumps([{"name": name, "value": secret}])},
        {"body": json.dumps({"inner": json.dumps({name: [secret]})})},
    ]  # fmt: skip
    runs = runs_with(rows[where])
    compiled = compile_routine(runs, agent="desk")
    assert secret not in all_of(compiled)
    as_it_is(compiled, runs)
    assert all(it.is_sensitive for it in compiled.parameters)


@pytest.mark.field("FL-93")
@pytest.mark.parametrize(
    "argv",
    [
        ["mysql", "-p", "zebra"],
        ["curl", "-u", "bot:zebra"],
        ["-H", "X-Auth:", "zebra"],
        ["password", "is", "zebra"],
    ],
)
def test_a_command_that_is_told_in_pieces_is_looked_at_as_a_whole(argv: list[str]) -> None:
    runs = runs_with({"argv": argv, "queue": "desk"})
    compiled = compile_routine(runs, agent="desk")
    assert "zebra" not in all_of(compiled)
    assert "desk" in all_of(compiled)
    as_it_is(compiled, runs)


@pytest.mark.field("FL-93")
def test_the_case_of_an_api_key_and_of_a_password_in_a_note() -> None:
    args = {"headers": {"X-Api-Key": "k-live-7731", "Accept": "text/plain"}, "note": "password: hunter2", "to": "desk", "pin": 4711}  # fmt: skip
    runs = runs_with(args)
    compiled = compile_routine(runs, agent="desk")
    assert [(it.name, it.is_sensitive) for it in compiled.parameters] == [
        ("X_Api_Key", True), ("note", True), ("pin", True),
    ]  # fmt: skip
    step = compiled.definition["steps"][0]
    assert step["args"]["to"] == "desk"
    assert step["args"]["headers"]["Accept"] == "text/plain"
    assert compiled.definition["input"]["properties"]["pin"]["writeOnly"] is True
    for word in ("7731", "hunter2", "4711"):
        assert word not in all_of(compiled)


def rule(name: str, path: str = "*", *, kind: str = "", text: str = "", tools: str = "*", fault: str = "") -> DataRule:  # fmt: skip
    return DataRule(name=name, kind=kind, path=read_path(path), tools=tools, denies=False, regex=BoundedRegex(text) if text else None, fault=fault)  # fmt: skip


@pytest.mark.field("FL-93")
def test_what_a_data_policy_covers_is_no_literal() -> None:
    args = {"who": "Anna Schmidt", "to": ["desk", "Anna Schmidt"], "by": {"Anna Schmidt": 1}, "at": "noon"}  # fmt: skip
    runs = runs_with(args)
    compiled = compile_routine(runs, agent="desk", rules=[rule("names", text="Anna [A-Z][a-z]+")])
    assert "Anna" not in all_of(compiled)
    assert compiled.definition["steps"][0]["args"]["at"] == "noon"
    as_it_is(compiled, runs)
    other = compile_routine(runs, agent="desk", rules=[rule("names", text="Anna", tools="crm/*")])
    assert other == compile_routine(runs, agent="desk")
    assert "Anna" in all_of(other)


def test_a_data_policy_that_cannot_be_read_withholds_the_routine() -> None:
    found = compile_routine(runs_with({"a": "b"}), agent="desk", rules=[rule("odd", fault="no such kind")])  # fmt: skip
    assert found.withheld == "data policy odd cannot be read: no such kind"
    assert (found.definition, found.digest, found.parameters, found.origins) == ({}, "", (), ())


@pytest.mark.field("FL-93")
def test_a_path_that_leads_through_a_persons_name_is_not_written_down() -> None:
    runs = [
        RecordedRun(
            id=f"r{it}",
            task="t",
            calls=(
                RecordedCall(server="crm", tool="find", args={}, output={"anna@example.com": {"ref": f"REF-{it}00"}, "again": [f"REF-{it}00"]}),
                RecordedCall(server="crm", tool="use", args={"ref": f"REF-{it}00"}, output=None),
            ),
        )
        for it in range(1, 4)
    ]  # fmt: skip
    compiled = compile_routine(runs, agent="desk")
    assert compiled.definition["steps"][1]["args"] == {"ref": {"$expr": "steps.s1.output.again.0"}}
    assert "anna" not in all_of(compiled)
