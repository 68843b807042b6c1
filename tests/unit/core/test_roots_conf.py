"""The settings of roots: what cannot be used is refused by name, and nothing secret is told."""

from __future__ import annotations

import base64

import pytest

from liyagent.core.errors import BadSetting
from liyagent.core.roots_conf import RootsConf, read_roots

KEY = base64.b64encode(b"hidden-hidden-hidden-hidden-hidd").decode()


def conf(**values: str) -> RootsConf:
    env = {f"LIYAGENT_{name}": value for name, value in values.items()}
    return read_roots(env, allowed_private_hosts=["127.0.0.1"])


def test_roots_are_a_minute_apart_and_leave_nowhere_unless_it_is_said() -> None:
    assert conf() == RootsConf(seconds=60, export="", token="", signing_keys=())


def test_a_directory_and_a_web_address_are_told_apart() -> None:
    assert not conf(ROOTS_EXPORT="/srv/roots").is_web
    assert conf(ROOTS_EXPORT="https://roots.example.com/a", ROOTS_EXPORT_TOKEN="t").is_web
    assert conf(ROOTS_EXPORT="http://127.0.0.1:9000").is_web


def test_the_first_signing_key_signs() -> None:
    keys = conf(SIGNING_KEY=f"new:{KEY}, old:{KEY}").signing_keys
    assert [name for name, _ in keys] == ["new", "old"]
    retired = conf(RETIRED_SIGNING_KEYS=f"{'0a' * 32}, {'0b' * 32}").retired_keys
    assert retired == ("0a" * 32, "0b" * 32)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("ROOT_SECONDS", "0"),
        ("ROOT_SECONDS", "nan"),
        ("ROOT_SECONDS", "86401"),
        ("ROOTS_EXPORT", "roots"),
        ("ROOTS_EXPORT", "/srv/\x00"),
        ("ROOTS_EXPORT", "/" + "r" * 3000),
        ("ROOTS_EXPORT", "http://hidden@roots.example.com"),
        ("ROOTS_EXPORT", "http://10.0.0.1/roots"),
        ("ROOTS_EXPORT", "https://roots.example.com/?hidden"),
        ("ROOTS_EXPORT", "ftp://roots.example.com"),
        ("ROOTS_EXPORT_TOKEN", "hidden"),
        ("SIGNING_KEY", "k1:hidden"),
        ("SIGNING_KEY", KEY),
        ("SIGNING_KEY", f"é:{KEY}"),
        ("SIGNING_KEY", f"k1:{KEY},k1:{KEY}"),
        ("RETIRED_SIGNING_KEYS", "hidden"),
        ("RETIRED_SIGNING_KEYS", f"{'0a' * 32},"),
    ],
)
def test_what_cannot_be_used_is_refused_by_its_name(name: str, value: str) -> None:
    with pytest.raises(BadSetting) as refused:
        conf(**{name: value})
    assert str(refused.value).startswith(f"LIYAGENT_{name}")
    assert "hidden" not in str(refused.value)
    assert KEY not in str(refused.value)
    assert KEY not in repr(conf(SIGNING_KEY=f"k1:{KEY}"))


def test_a_token_of_two_lines_is_refused() -> None:
    with pytest.raises(BadSetting, match="LIYAGENT_ROOTS_EXPORT_TOKEN"):
        conf(ROOTS_EXPORT="https://roots.example.com", ROOTS_EXPORT_TOKEN="a\r\nhidden: b")
