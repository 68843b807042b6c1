"""A row names a secret; the environment holds it."""

import pytest

from liyagent.core.environment import read_secret
from liyagent.core.errors import BadInput


def test_a_named_variable_is_read_and_trimmed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VENDOR_KEY", " k-1\n")
    assert read_secret("VENDOR_KEY") == "k-1"


@pytest.mark.promise("ruling 35")
@pytest.mark.parametrize(
    "name", ["LIYAGENT_SECRET_KEY", "LIYAGENT_SEAL_KEYS", "DATABASE_URL", "PGPASSWORD", "sk-live-1", ""]
)  # fmt: skip
def test_our_own_secrets_cannot_be_named(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if name:
        monkeypatch.setenv(name, "ours")
    with pytest.raises(BadInput, match="cannot hold a key"):
        read_secret(name)


def test_an_unset_variable_is_named() -> None:
    with pytest.raises(BadInput, match="VENDOR_KEY_2 is not set"):
        read_secret("VENDOR_KEY_2")


def test_a_value_that_is_no_key_is_refused_without_showing_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("VENDOR_KEY", "gehe\r\nim")
    with pytest.raises(BadInput) as refused:
        read_secret("VENDOR_KEY")
    assert "gehe" not in str(refused.value)
