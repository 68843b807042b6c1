"""Give the database role that serves its rights, and no more."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from liyagent.core.operator import operator_name
from liyagent.operation.database_roles import as_owner, roles_sql, runtime_role, split_roles


class Command(BaseCommand):
    """Of the owner of the tables: by LIYAGENT_OWNER_DATABASE_URL, else by DATABASE_URL."""

    help = "Give the database role that serves what it needs, and nothing more; run as the role that owns the tables"

    def add_arguments(self, parser: CommandParser) -> None:
        """Which role, and whether only to say what would be done."""
        parser.add_argument(
            "--role",
            help="the role that serves: that of DATABASE_URL where LIYAGENT_OWNER_DATABASE_URL is set, else liyagent_serve",
        )
        parser.add_argument(
            "--sql", action="store_true", help="print the statement, and ask the database nothing"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        """Print it, or run it and tell what the role may do now."""
        role = options["role"] if options["role"] is not None else runtime_role()
        if options["sql"]:
            self.stdout.write(roles_sql(role), ending="")
            return
        with as_owner():
            split = split_roles(role, actor=operator_name())
        kept = f"{split.least_days} days at the least" if split.least_days else "for good"
        self.stdout.write(
            f"{split.role} writes {split.written} tables, adds to {split.added_to} and reads {split.read} more; "
            f"events are kept {kept}"
        )
