"""`docs/settings.md` names every setting that is read, with its default."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from liyagent.core.conf import Conf, read_conf

ROOT = Path(__file__).resolve().parents[2]
ROW = re.compile(r"^\| `([A-Z_]+)` \| (.*?) \| (.*?) \|$", re.MULTILINE)
TEXT = (ROOT / "docs" / "settings.md").read_text().partition("Read by single commands")[0]
SETTINGS = {name: default for name, default, _ in ROW.findall(TEXT)}
WRITTEN_OUT = {
    name: default.strip("`")
    for name, default in SETTINGS.items()
    if re.fullmatch("`[^`]*`", default)
}
NEEDED = {"DATABASE_URL": "postgresql://nobody@nowhere/none", "LIYAGENT_DEBUG": "true"}


class Asked(dict[str, str]):
    """An environment that remembers what was asked of it."""

    def __init__(self, values: dict[str, str]) -> None:
        super().__init__(values)
        self.names: set[str] = set()

    def get(self, name: str, default: str | None = None) -> str | None:  # type: ignore[override] # our names are text
        """Return a variable, and remember its name."""
        self.names.add(name)
        return super().get(name, default)


def conf_of(tmp_path: Path, **values: str) -> Conf:
    """Read settings, with what is needed to read any."""
    return read_conf({**NEEDED, **values}, base_dir=tmp_path)


def test_the_document_names_exactly_the_settings_that_are_read(tmp_path: Path) -> None:
    asked = Asked(NEEDED)
    read_conf(asked, base_dir=tmp_path)
    assert set(SETTINGS) == asked.names


@pytest.mark.parametrize("name", sorted(set(WRITTEN_OUT) - set(NEEDED)))
def test_a_written_default_is_the_default(name: str, tmp_path: Path) -> None:
    assert conf_of(tmp_path, **{name: WRITTEN_OUT[name]}) == conf_of(tmp_path)


def test_debug_is_off_unless_it_is_switched_on(tmp_path: Path) -> None:
    keys = {"LIYAGENT_SECRET_KEY": "s" * 50, "LIYAGENT_SEAL_KEYS": f"k1:{'A' * 43}="}
    env = {"DATABASE_URL": NEEDED["DATABASE_URL"], **keys}
    assert read_conf(env, base_dir=tmp_path).debug is (SETTINGS["LIYAGENT_DEBUG"] == "`true`")


def test_the_document_says_of_an_empty_default_that_it_is_empty(tmp_path: Path) -> None:
    conf = conf_of(tmp_path)
    empty = {name for name, default in SETTINGS.items() if default == "empty"}
    assert empty == {
        "LIYAGENT_DIGEST_KEY",
        "LIYAGENT_ALLOWED_ORIGINS",
        "LIYAGENT_ALLOWED_PRIVATE_HOSTS",
        "LIYAGENT_COMMANDS_FILE",
        "LIYAGENT_HOOK_MODULES",
        "LIYAGENT_SOURCE_ROOTS",
        "LIYAGENT_METRICS_TOKEN",
        "LIYAGENT_APPROVAL_WEBHOOK_URL",
        "LIYAGENT_APPROVAL_WEBHOOK_SECRETS",
        "LIYAGENT_PUBLIC_URL",
        "LIYAGENT_OWNER_DATABASE_URL",
        "LIYAGENT_RETIRED_SIGNING_KEYS",
        "LIYAGENT_ROOTS_EXPORT",
        "LIYAGENT_ROOTS_EXPORT_TOKEN",
        "LIYAGENT_TICKET_TOOL",
        "LIYAGENT_TICKET_ARGS",
    }
    assert conf.tickets is None
    assert (conf.roots.export, conf.roots.token, conf.roots.retired_keys) == ("", "", ())
    assert (conf.digest_key, conf.metrics_token, conf.commands_file) == (b"", "", None)
    assert {conf.allowed_origins, conf.allowed_private_hosts, conf.hook_modules} == {()}
    assert conf.source_roots == ()
    assert (conf.approval_webhook_url, conf.approval_webhook_secrets, conf.public_url) == (
        "",
        (),
        "",
    )


def test_the_document_tells_of_the_places_that_are_defaults(tmp_path: Path) -> None:
    conf = conf_of(tmp_path)
    assert (
        SETTINGS["LIYAGENT_STATE_DIR"]
        == f"`{conf.state_dir.relative_to(tmp_path)}` of the checkout"
    )
    assert (
        SETTINGS["LIYAGENT_SCRIPTS_DIR"]
        == f"`{conf.scripts_dir.relative_to(tmp_path)}` of the checkout"
    )
    assert SETTINGS["LIYAGENT_DIRECT_DATABASE_URL"] == "as `DATABASE_URL`"
    assert conf.direct_database_url == conf.database_url
