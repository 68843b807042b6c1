"""The webhook of approvals: an address and its secrets, both or none, and never a word of them in a refusal."""

from __future__ import annotations

import base64
from pathlib import Path

import pytest

from liyagent.core.conf import Conf, read_conf
from liyagent.core.errors import BadSetting
from tests.unit.core.test_conf import GOOD

URL, SECRETS = "LIYAGENT_APPROVAL_WEBHOOK_URL", "LIYAGENT_APPROVAL_WEBHOOK_SECRETS"
ADDRESS = "https://chat.example.com/hooks/hidden?token=hidden"


def secret(byte: bytes = b"h", length: int = 24) -> str:
    return f"whsec_{base64.b64encode(byte * length).decode()}"


def conf_with(tmp_path: Path, **changes: str) -> Conf:
    return read_conf({**GOOD, **changes}, base_dir=tmp_path)


def test_without_both_nobody_is_told(tmp_path: Path) -> None:
    conf = conf_with(tmp_path)
    assert (conf.approval_webhook_url, conf.approval_webhook_secrets) == ("", ())


def test_the_first_secret_is_the_newest(tmp_path: Path) -> None:
    conf = conf_with(tmp_path, **{URL: ADDRESS, SECRETS: f"{secret(b'n')}, {secret(b'o')}"})
    assert conf.approval_webhook_url == ADDRESS
    assert conf.approval_webhook_secrets == (b"n" * 24, b"o" * 24)


@pytest.mark.parametrize("url", ["http://10.1.2.3/hook", "http://127.0.0.1:9/hook"])
def test_an_address_inside_is_taken_where_it_is_allowed(tmp_path: Path, url: str) -> None:
    allowed = {"LIYAGENT_ALLOWED_PRIVATE_HOSTS": "10.0.0.0/8,127.0.0.1"}
    conf = conf_with(tmp_path, **allowed, **{URL: url, SECRETS: secret()})
    assert conf.approval_webhook_url == url


@pytest.mark.parametrize(
    ("url", "secrets", "said"),
    [
        (ADDRESS, "", f"{SECRETS} is not set"),
        ("", secret(), f"{URL} is not set"),
        ("ftp://hidden.example.com", secret(), f"{URL} cannot be called"),
        ("https://user:hidden@example.com/", secret(), f"{URL} cannot be called"),
        ("http://10.1.2.3/hidden", secret(), f"{URL} cannot be called"),
        ("http://2130706433/hidden", secret(), f"{URL} cannot be called"),
        (f"https://example.com/{'hidden' * 400}", secret(), f"{URL} cannot be called"),
        (ADDRESS, "hidden", f"{SECRETS} cannot be used"),
        (ADDRESS, secret().removeprefix("whsec_"), f"{SECRETS} cannot be used"),
        (ADDRESS, secret(length=23), f"{SECRETS} cannot be used"),
        (ADDRESS, secret(length=65), f"{SECRETS} cannot be used"),
        (ADDRESS, f"{secret()},", f"{SECRETS} cannot be used"),
        (ADDRESS, f"{secret()},{secret()}", f"{SECRETS} wants at most 4 secrets, each of its own"),
        (ADDRESS, ",".join(secret(b"%d" % n) for n in range(5)), f"{SECRETS} wants at most 4"),
    ],
)
def test_what_cannot_be_used_is_refused_by_name(
    tmp_path: Path, url: str, secrets: str, said: str
) -> None:
    with pytest.raises(BadSetting) as refused:
        conf_with(tmp_path, **{URL: url, SECRETS: secrets})
    assert str(refused.value).startswith(said)
    assert "hidden" not in str(refused.value)
    assert secret().removeprefix("whsec_") not in str(refused.value)


@pytest.mark.parametrize("url", ["liyagent.example.com", "https://a.example/x", "ftp://a.example"])
def test_where_people_reach_the_console_is_an_origin(tmp_path: Path, url: str) -> None:
    with pytest.raises(BadSetting, match=r"^LIYAGENT_PUBLIC_URL cannot be used"):
        conf_with(tmp_path, LIYAGENT_PUBLIC_URL=url)
    good = "https://liyagent.example.com:8443"
    assert conf_with(tmp_path, LIYAGENT_PUBLIC_URL=good).public_url == good
