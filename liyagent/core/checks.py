"""What `manage.py check --deploy` looks at beyond Django's own: the settings, and who we are to the database."""

from __future__ import annotations

from collections.abc import Iterable
from ipaddress import ip_address, ip_network
from pathlib import Path
from typing import Any

import psycopg
from django.conf import settings
from django.core import checks
from django.db import DatabaseError, connection

from liyagent.core.conf import Conf
from liyagent.core.database import direct_connection, leads_to_its_server

TAG = "liyagent"
# More private addresses than any one network has.
WIDEST_BITS = {4: 8, 6: 32}
METADATA = tuple(ip_address(it) for it in ("169.254.169.254", "100.100.100.200", "fd00:ec2::254"))
MOST_SEAL_KEYS = 5


def query(sql: str, *values: Any) -> list[tuple[Any, ...]] | None:
    """Return the rows of a look at the database, None where it cannot be asked; `liyagent.E001` says so once."""
    try:
        with connection.cursor() as cursor:
            cursor.execute(sql, values)
            rows: list[tuple[Any, ...]] = cursor.fetchall()
            return rows
    except DatabaseError:
        connection.close()
        return None


@checks.register(TAG, deploy=True)
def check_database(**_: Any) -> Iterable[checks.CheckMessage]:
    """Whether it answers, and that its role can neither do all nor take the append-only triggers off (ruling 28)."""
    roles = query("SELECT current_user, rolsuper FROM pg_roles WHERE rolname = current_user")
    if roles is None:
        yield checks.Error(
            "the database cannot be asked",
            hint="Check DATABASE_URL and that the server runs; the checks that ask it were left out.",
            id="liyagent.E001",
        )
        return
    ((role, is_superuser),) = roles
    if is_superuser:
        yield checks.Warning(
            f"the database role {role} is a superuser",
            hint="Migrate as one role, and serve as another that owns nothing; docs/database-roles.md shows how.",
            id="liyagent.W002",
        )
        return
    owned = query(
        "SELECT relname FROM pg_class WHERE relkind = 'r' AND relnamespace = current_schema()::regnamespace"
        " AND pg_has_role(relowner, 'USAGE') ORDER BY relname LIMIT 3"
    )
    if owned:
        yield checks.Warning(
            f"the database role {role} owns tables, {', '.join(name for (name,) in owned)} among them",
            hint="Who owns a table can take its append-only triggers off. Serve as a role that owns nothing; "
            "docs/database-roles.md shows how.",
            id="liyagent.W003",
        )


@checks.register(TAG, deploy=True)
def check_direct_url(**_: Any) -> Iterable[checks.CheckMessage]:
    """Renewal and watch need sessions of the server's own (ruling 3b)."""
    try:
        with direct_connection() as direct:
            is_direct = leads_to_its_server(direct)
    except psycopg.Error:
        yield checks.Error(
            "the database cannot be reached by LIYAGENT_DIRECT_DATABASE_URL",
            hint="Check the address; it wants the same database as DATABASE_URL, without a pooler between.",
            id="liyagent.E004",
        )
        return
    if not is_direct:
        yield checks.Warning(
            "LIYAGENT_DIRECT_DATABASE_URL leads to a pooler",
            hint="Set it to the server's own address: behind a pooler there are no life-locks, and no wake-up.",
            id="liyagent.W005",
        )


@checks.register(TAG, deploy=True)
def check_settings(**_: Any) -> Iterable[checks.CheckMessage]:
    """What must not be as in development."""
    conf: Conf = settings.LIYAGENT
    if conf.debug:
        yield checks.Error("LIYAGENT_DEBUG is on", hint="Set it to false.", id="liyagent.E006")
    if "*" in conf.allowed_hosts:
        yield checks.Warning(
            "LIYAGENT_ALLOWED_HOSTS lets any host be named",
            hint="Name the hosts that people use; else links and redirects lead where a request says.",
            id="liyagent.W007",
        )
    if conf.https is False:
        yield checks.Warning(
            "LIYAGENT_HTTPS is false: sessions go over the network in the clear",
            hint="Put an edge in front that speaks https, and set LIYAGENT_HTTPS=true.",
            id="liyagent.W008",
        )
    elif not conf.proxies:
        yield checks.Warning(
            "LIYAGENT_HTTPS is true, and LIYAGENT_PROXIES says that nothing stands in front",
            hint="Set LIYAGENT_PROXIES to the number of your proxies: else all clients have one address, and "
            "http is not sent on to https.",
            id="liyagent.W009",
        )
    for entry in conf.allowed_private_hosts:
        if _is_too_wide(entry):
            yield checks.Warning(
                f"LIYAGENT_ALLOWED_PRIVATE_HOSTS has {entry}, which is more than a network of yours",
                hint="Name the hosts and networks that servers and models are at, and never the cloud's metadata.",
                id="liyagent.W010",
            )


@checks.register(TAG, deploy=True)
def check_secrets(**_: Any) -> Iterable[checks.CheckMessage]:
    """That no secret is one made for development, and old seal keys go."""
    conf: Conf = settings.LIYAGENT
    if conf.secret_key == _kept(conf.state_dir / "secret-key"):
        yield checks.Error(
            "LIYAGENT_SECRET_KEY is the one made for development in the state directory",
            hint="Set one of 50 random characters of its own.",
            id="liyagent.E011",
        )
    development = _kept(conf.state_dir / "seal-keys").partition(":")[0]
    if development in {name for name, _ in conf.seal_keys}:
        yield checks.Error(
            f"LIYAGENT_SEAL_KEYS has {development}, made for development in the state directory",
            hint="Put a key of `python -m liyagent.core.newkey` first; keep the old one until no run has it.",
            id="liyagent.E012",
        )
    if len(conf.seal_keys) > MOST_SEAL_KEYS:
        yield checks.Warning(
            f"LIYAGENT_SEAL_KEYS has {len(conf.seal_keys)} keys",
            hint="Re-seal what is kept, and take those out that no run has.",
            id="liyagent.W013",
        )


def _is_too_wide(entry: str) -> bool:
    try:
        network = ip_network(entry, strict=False)
    except ValueError:
        return entry.lower().rstrip(".") == "metadata.google.internal"
    if network.prefixlen < WIDEST_BITS[network.version]:
        return True
    return any(address in network for address in METADATA if address.version == network.version)


def _kept(path: Path) -> str:
    try:
        return path.read_text().strip()
    except OSError:
        return ""
