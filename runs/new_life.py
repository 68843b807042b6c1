"""Register this process as a holder: what it can open and read goes with it (rulings 2, 14)."""

from __future__ import annotations

from uuid import UUID

from django.conf import settings
from django.db import connection

from liyagent.leases.holding import register_holder
from liyagent.leases.identity import Identity, own_name
from liyagent.leases.own import OWN
from runs.checkpoint import keyring
from runs.runner import FORMATS


def begin_life(identity: Identity) -> UUID:
    """Store a new holder of this process, alive for one lease, and return its id. Raises the database's errors."""
    try:
        OWN.holder = register_holder(
            identity,
            name=own_name(),
            lease_seconds=settings.LIYAGENT.lease_seconds,
            formats=FORMATS,
            key_ids=keyring().ids,
        )
        return OWN.holder
    finally:
        connection.close()
