"""`manage.py seed`: a login, the demo vendors, agents and policy, and a few runs to look at."""

from __future__ import annotations

import os
from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from liyagent.core.addresses import WEB_ADDRESS, is_web_address
from liyagent.core.errors import BadInput
from liyagent.demo import seed


class Command(BaseCommand):
    """Seed a fresh installation; a second time changes nothing."""

    help = "Make the login `admin` and the demo's vendors, agents, workflow, policy and example runs; safe to repeat"

    def add_arguments(self, parser: CommandParser) -> None:
        """Where the vendors are, and whether to start runs."""
        vendors = os.environ.get("LIYAGENT_DEMO_VENDORS_URL") or seed.DEFAULT_VENDORS
        parser.add_argument("--vendors", default=vendors, metavar="URL", help="where they listen")
        parser.add_argument("--no-runs", action="store_true", help="start no example runs")

    def handle(self, *args: Any, **options: Any) -> None:
        """Carry each part out and say what changed."""
        if not is_web_address(options["vendors"]):
            raise BadInput(f"--vendors is {options['vendors']!r}; it wants {WEB_ADDRESS}")
        password = os.environ.get("LIYAGENT_ADMIN_PASSWORD", "")
        self._tell(seed.make_admin(password), f"login {seed.ADMIN}")
        self._tell(seed.keep_servers(options["vendors"]), f"vendors at {options['vendors']}")
        self._tell(seed.keep_policy(), "policy")
        seed.keep_agents()
        failed = seed.read_catalogues()
        if failed:
            self.stderr.write(
                f"the vendors at {options['vendors']} do not answer ({', '.join(failed)}): their tools "
                "are not offered yet, what is undone is not declared, and no runs start; start them and seed again"
            )
            return
        seed.keep_undone()
        if not options["no_runs"]:
            new = seed.start_examples()
            self._tell(new > 0, f"{new or 'the'} example runs")

    def _tell(self, is_changed: bool, what: str) -> None:
        self.stdout.write(f"{what}: {'done' if is_changed else 'as it was'}")
