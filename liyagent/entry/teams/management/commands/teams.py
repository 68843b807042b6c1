"""`manage.py teams`: bots, and which users the accounts of people are."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from liyagent.core.operator import operator_name
from liyagent.core.tables import aligned, visible
from liyagent.entry.teams.bots import find_bot, remove_bot, save_bot, switch_bot
from liyagent.entry.teams.check import check_bot
from liyagent.entry.teams.models import TeamsBot, TeamsPerson
from liyagent.entry.teams.people import remove_person, save_person
from liyagent.entry.whom import Saver

MOST_LISTED = 1000
BOT_HEADS = ("BOT", "STATE", "AGENT", "APP ID", "TENANT", "STARTED BY", "SECRET IN", "SAVED BY")
PERSON_HEADS = ("ACCOUNT", "USER", "SAVED BY", "SAVED")
FIELDS = {
    "agent": "the agent that answers",
    "app_id": "the app id of the registration",
    "tenant": "the id of its tenant",
    "secret_env": "the environment variable that holds the client secret",
    "started_by": "the user whose runs its turns are",
    "metadata_url": "OpenID metadata of another cloud",
    "issuer": "issuer of another cloud's tokens",
    "token_url": "where its own tokens are fetched in another cloud",
    "scope": "scope of its own tokens in another cloud",
}


class Command(BaseCommand):
    """One subcommand a verb."""

    help = (
        "Teams: list | save KEY --agent A --app-id ID --tenant ID --secret-env NAME --started-by USER | check KEY | "
        "enable KEY | disable KEY | remove KEY | people | person ACCOUNT USER | forget ACCOUNT"
    )

    def add_arguments(self, parser: CommandParser) -> None:
        """One subcommand a verb."""
        verbs = parser.add_subparsers(dest="verb", required=True)
        verbs.add_parser("list", help="every bot")
        save = verbs.add_parser("save", help="keep a bot; what is left out stays")
        save.add_argument("key")
        for name, told in FIELDS.items():
            save.add_argument(f"--{name.replace('_', '-')}", dest=name, help=told)
        for verb, told in (
            ("check", "whether it could receive and answer; nothing is posted"),
            ("enable", "let a bot receive"),
            ("disable", "let a bot receive nothing more; what it received goes on"),
            ("remove", "forget a bot"),
        ):
            verbs.add_parser(verb, help=told).add_argument("key")
        verbs.add_parser("people", help="the accounts that are known")
        person = verbs.add_parser("person", help="say which user an account is")
        person.add_argument("account", help="its object id in Entra")
        person.add_argument("user")
        verbs.add_parser("forget", help="let an account be nobody").add_argument("account")

    def handle(self, *args: Any, **options: Any) -> None:
        """Do what the subcommand says."""
        getattr(self, f"_{options['verb']}")(options)

    def _list(self, _options: dict[str, Any]) -> None:
        rows = [
            (
                bot.key, "enabled" if bot.is_enabled else "disabled", bot.agent_key, bot.app_id, bot.tenant,
                bot.started_by, bot.secret_env, bot.saved_by,
            )
            for bot in TeamsBot.objects.all()[:MOST_LISTED]
        ]  # fmt: skip
        self.stdout.write(aligned(BOT_HEADS, rows))

    def _save(self, options: dict[str, Any]) -> None:
        given = {name: options[name] for name in FIELDS if options[name] is not None}
        bot = save_bot(options["key"], given, saver=_saver())
        self.stdout.write(visible(f"{bot.key}: kept; agent {bot.agent_key} answers, its runs are started by {bot.started_by}"))  # fmt: skip

    def _check(self, options: dict[str, Any]) -> None:
        for line in check_bot(find_bot(options["key"])):
            self.stdout.write(visible(f"{options['key']}: {line}"))

    def _enable(self, options: dict[str, Any]) -> None:
        switch_bot(options["key"], to_enabled=True, actor=operator_name())
        self.stdout.write(f"{options['key']}: enabled")

    def _disable(self, options: dict[str, Any]) -> None:
        switch_bot(options["key"], to_enabled=False, actor=operator_name())
        self.stdout.write(f"{options['key']}: disabled")

    def _remove(self, options: dict[str, Any]) -> None:
        remove_bot(options["key"], actor=operator_name())
        self.stdout.write(f"{options['key']}: removed")

    def _people(self, _options: dict[str, Any]) -> None:
        rows = [
            (it.aad_object_id, it.username, it.saved_by, it.updated_at)
            for it in TeamsPerson.objects.all()[:MOST_LISTED]
        ]
        self.stdout.write(aligned(PERSON_HEADS, rows))

    def _person(self, options: dict[str, Any]) -> None:
        person = save_person(options["account"], options["user"], saver=_saver())
        self.stdout.write(visible(str(person)))

    def _forget(self, options: dict[str, Any]) -> None:
        remove_person(options["account"], actor=operator_name())
        self.stdout.write(f"{options['account']} is nobody now")


def _saver() -> Saver:
    return Saver(actor=operator_name(), may_name_others=True)
