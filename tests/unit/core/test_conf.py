"""Settings that cannot be used are refused in one line that names them."""

from __future__ import annotations

from pathlib import Path

import pytest

from liyagent.core.conf import Conf, read_conf
from liyagent.core.errors import BadSetting

KEY = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="
GOOD = {
    "DATABASE_URL": "postgresql://me:hidden@db:5432/liyagent",
    "LIYAGENT_SECRET_KEY": "s" * 50,
    "LIYAGENT_SEAL_KEYS": f"k2:{KEY},k1:{KEY}",
}


def conf_with(tmp_path: Path, **changes: str) -> Conf:
    return read_conf({**GOOD, **changes}, base_dir=tmp_path)


def test_the_first_seal_key_is_the_newest(tmp_path: Path) -> None:
    assert [name for name, _ in conf_with(tmp_path).seal_keys] == ["k2", "k1"]


def test_a_shell_beside_make_up_counts_with_the_prices_of_the_demo(tmp_path: Path) -> None:
    prices = tmp_path / "liyagent" / "demo" / "prices.yaml"
    prices.parent.mkdir(parents=True)
    prices.write_text("")
    beside = {name: value for name, value in GOOD.items() if name != "DATABASE_URL"}
    (tmp_path / ".liyagent").mkdir()
    (tmp_path / ".liyagent" / "database-url").write_text(GOOD["DATABASE_URL"])
    assert read_conf(beside, base_dir=tmp_path).prices_file == prices
    assert read_conf({**beside, "LIYAGENT_PRICES_FILE": ""}, base_dir=tmp_path).prices_file is None
    assert conf_with(tmp_path).prices_file is None


@pytest.mark.promise("CR-11")
def test_a_lease_lasts_eight_seconds_and_is_looked_for_every_three(tmp_path: Path) -> None:
    conf = conf_with(tmp_path)
    assert (conf.lease_seconds, conf.sweep_seconds) == (8.0, 3.0)


@pytest.mark.promise("CR-07")
def test_entries_are_resumed_unless_it_is_said_that_they_are_not(tmp_path: Path) -> None:
    name = "TICKETIQ_CRASH_RESUME_ENTRIES"
    assert conf_with(tmp_path).crash_resume_entries
    assert conf_with(tmp_path, **{name: "true"}).crash_resume_entries
    assert not conf_with(tmp_path, **{name: "false"}).crash_resume_entries


@pytest.mark.promise("CR-08")
def test_an_answer_is_kept_for_seven_days_unless_it_is_said_how_long(tmp_path: Path) -> None:
    name = "LIYAGENT_ANSWER_DAYS"
    assert conf_with(tmp_path).answer_seconds == 7 * 86_400
    assert conf_with(tmp_path, **{name: "0.5"}).answer_seconds == 43_200


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("TICKETIQ_CRASH_RESUME_ENTRIES", "some", "true or false"),
        ("LIYAGENT_ANSWER_DAYS", "-1", "from 0 to 3650"),
        ("LIYAGENT_DEBUG", "maybe", "true or false"),
        ("LIYAGENT_RUN_SLOTS", "9" * 5000, "from 1 to 10000"),
        ("LIYAGENT_RUN_SLOTS", "0", "from 1 to 10000"),
        ("LIYAGENT_RUN_SLOTS", "٣", "from 1 to 10000"),
        ("LIYAGENT_CARRY_MEMORY_MB", "383", "0 for none, or a number from 384"),
        ("LIYAGENT_CARRY_MEMORY_MB", "-1", "from 0 to 1000000"),
        ("LIYAGENT_LEASE_SECONDS", "nan", "from 0.2 to 600"),
        ("LIYAGENT_LEASE_SECONDS", "1e999", "from 0.2 to 600"),
        ("LIYAGENT_LOG_LEVEL", "loud", "one of DEBUG"),
        ("LIYAGENT_METRICS_TOKEN", "t" * 31, "32 to 200"),
        ("LIYAGENT_METRICS_TOKEN", "two words " * 4, "32 to 200"),
        ("LIYAGENT_SEAL_KEYS", "", "is not set"),
        ("LIYAGENT_SEAL_KEYS", ",", "id:base64-of-32-bytes"),
        ("LIYAGENT_SEAL_KEYS", "k1:AAAA", "id:base64-of-32-bytes"),
        ("LIYAGENT_SEAL_KEYS", f"{KEY}:k1", "id:base64-of-32-bytes"),
        ("LIYAGENT_SEAL_KEYS", f"é:{KEY}", "letters, digits and _"),
        ("LIYAGENT_SEAL_KEYS", f"{'k' * 65}:{KEY}", "1 to 64"),
        ("LIYAGENT_SEAL_KEYS", f"k1:{KEY},k1:{KEY}", "twice"),
        ("LIYAGENT_SECRET_KEY", "", "is not set"),
        ("LIYAGENT_SECRET_KEY", "s" * 49, "is too short"),
        ("LIYAGENT_DIGEST_KEY", "\udcff", "not UTF-8"),
        ("LIYAGENT_ALLOWED_PRIVATE_HOSTS", "10.0.0.0/99", "10.1.0.0/16"),
        ("LIYAGENT_ALLOWED_PRIVATE_HOSTS", "http://10.0.0.1", "10.1.0.0/16"),
        ("LIYAGENT_SCRIPTS_DIR", "/nowhere/at/all", "a directory that exists"),
        ("LIYAGENT_COMMANDS_FILE", "/nowhere/at/all", "a file that exists"),
        ("DATABASE_URL", "mysql://a/b", "postgresql://user:password@host:port/name"),
        ("DATABASE_URL", "postgresql://", "postgresql://user:password@host:port/name"),
        ("DATABASE_URL", "postgresql://me:hidden@db:port/x", "postgresql://user"),
        ("DATABASE_URL", "postgresql://me:hidden@db:99999/x", "postgresql://user"),
        ("DATABASE_URL", "postgresql://[::1/x", "postgresql://user"),
        ("DATABASE_URL", "postgresql://me:hidden@db/x?nonsense=1", "postgresql://user"),
        ("LIYAGENT_DIRECT_DATABASE_URL", "nonsense", "postgresql://user"),
    ],
)
def test_a_bad_value_is_refused_by_the_name_of_its_variable(
    tmp_path: Path, name: str, value: str, said: str
) -> None:
    with pytest.raises(BadSetting) as refused:
        conf_with(tmp_path, **{name: value})
    assert str(refused.value).startswith(name)
    assert said in str(refused.value)
    assert "hidden" not in str(refused.value)
    assert len(str(refused.value)) < 300


def test_a_state_directory_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    changes = {
        "LIYAGENT_STATE_DIR": "/dev/null/x",
        "LIYAGENT_SECRET_KEY": "",
        "LIYAGENT_DEBUG": "1",
    }
    with pytest.raises(BadSetting, match="LIYAGENT_STATE_DIR"):
        conf_with(tmp_path, **changes)
