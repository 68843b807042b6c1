"""What `manage.py check --deploy` looks at: that the database keeps what it confirms, and refuses what it must."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from django.core import checks
from django.db import DatabaseError, connection

from handoffs.functions import SQL as HANDOFFS_SQL
from liyagent.core.checks import TAG, query
from liyagent.core.errors import BadSetting
from liyagent.core.sql_functions import FUNCTION
from runs.durability import check_durability
from runs.hot_functions import FILES, SQL
from sagas.functions import SQL as SAGAS_SQL

APPEND_ONLY = (
    *("audit_auditrow", "events_runevent", "events_eventhead", "events_purgecertificate"),
    *("events_root", "events_identity"),
    *("handoffs_snapshot", "handoffs_version", "handoffs_reading"),
)
TRIGGERS = (
    *(f"{table}_refuse_{what}" for table in APPEND_ONLY for what in ("rows", "truncate")),
    "events_purgecertificate_certify",
    "events_retention_told",
)


@checks.register(TAG, deploy=True)
def check_append_only(**_: Any) -> Iterable[checks.CheckMessage]:
    """The triggers of append-only tables are there and fire for every role (ruling 28)."""
    rows = query(
        "SELECT tgname FROM pg_trigger WHERE tgname = ANY(%s) AND tgenabled = 'A'", [*TRIGGERS]
    )
    missing = sorted(set(TRIGGERS) - {name for (name,) in rows}) if rows is not None else []
    if missing:
        yield checks.Error(
            f"append-only tables can be changed: {', '.join(missing)} is not there, or not ENABLE ALWAYS",
            hint="Find out who took it off. ALTER TABLE ... ENABLE ALWAYS TRIGGER, or restore the migration.",
            id="liyagent.E050",
        )


@checks.register(TAG, deploy=True)
def check_hot_functions(**_: Any) -> Iterable[checks.CheckMessage]:
    """Every function of `runs/sql`, `sagas/sql` and `handoffs/sql` is in the database."""
    files = [*(SQL / file for file in FILES), SAGAS_SQL, HANDOFFS_SQL]
    wanted = {name for file in files for name in FUNCTION.findall(file.read_text())}
    rows = query(
        "SELECT proname FROM pg_proc WHERE pronamespace = current_schema()::regnamespace AND proname = ANY(%s)",
        sorted(wanted),
    )
    missing = sorted(wanted - {name for (name,) in rows}) if rows is not None else []
    if missing:
        yield checks.Error(
            f"functions are missing in the database: {', '.join(missing[:5])}",
            hint="Run `manage.py migrate`.",
            id="liyagent.E051",
        )


@checks.register(TAG, deploy=True)
def check_server(**_: Any) -> Iterable[checks.CheckMessage]:
    """What `serve` refuses at its start is refused here, though LIYAGENT_ALLOW_UNSAFE_DURABILITY lets it pass."""
    try:
        check_durability(allow_unsafe=False)
    except BadSetting as error:
        yield checks.Error(
            str(error), hint="Turn it on in postgresql.conf, and reload.", id="liyagent.E052"
        )
    except DatabaseError:
        connection.close()
