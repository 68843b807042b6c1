"""Refuse a pooler where a session has to be our own (rulings 3 and 3b)."""

from __future__ import annotations

from liyagent.core.database import direct_connection, leads_to_its_server
from liyagent.core.errors import BadSetting


def check_directness() -> None:
    """Raise `BadSetting` where the direct address leads through a pooler.

    A sweep's grace is the age of its connection, and behind a pooler that is another's: it could claim from
    the living just after the server came back.
    """
    with direct_connection() as connection:
        is_direct = leads_to_its_server(connection)
    if not is_direct:
        raise BadSetting(
            "LIYAGENT_DIRECT_DATABASE_URL (by default DATABASE_URL) leads through a pooler; it wants the "
            "address of the PostgreSQL server itself, and DATABASE_URL may stay as it is"
        )
