"""Which database this is."""

from __future__ import annotations

from uuid import UUID, uuid4

from django.db import connection

from events.models import Identity

IDENTIFY = """
INSERT INTO events_identity (id, database, made_at) VALUES (1, %s, liyagent_now()) ON CONFLICT DO NOTHING
"""


def database_id() -> UUID:
    """Return which database this is; it is said once, by whoever asks first."""
    found = Identity.objects.values_list("database", flat=True).first()
    if found is None:
        with connection.cursor() as cursor:
            cursor.execute(IDENTIFY, [uuid4()])
        found = Identity.objects.values_list("database", flat=True).get()
    return found
