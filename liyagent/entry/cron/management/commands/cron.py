"""`manage.py cron`: triggers, what became of their slots, and a run by hand."""

from __future__ import annotations

from argparse import ArgumentTypeError
from typing import Any

from django.core.management.base import BaseCommand, CommandParser
from rest_framework.exceptions import Throttled

from liyagent.core.errors import Conflict
from liyagent.core.operator import operator_name
from liyagent.core.tables import aligned, visible
from liyagent.entry.cron.fire import slot_id
from liyagent.entry.cron.fires import kind_of, last_fires, slot_of
from liyagent.entry.cron.models import CronFire, CronTrigger
from liyagent.entry.cron.run_now import run_now
from liyagent.entry.cron.triggers import find_trigger, remove_trigger, save_trigger
from liyagent.entry.whom import Saver

MOST_LISTED, MOST_FIRES = 1000, 200
HEADS = ("TRIGGER", "STATE", "AGENT", "SCHEDULE", "ZONE", "NEXT", "LAST FIRE", "WHAT CAME OF IT", "STARTED BY")  # fmt: skip
FIRE_HEADS = ("SLOT", "KIND", "STATE", "OUTCOME", "RUN", "WHY")
FIELDS = {
    "agent": "the agent that is asked",
    "task": "what it is asked",
    "schedule": "five fields: minute, hour, day of the month, month, day of the week",
    "timezone": "the zone that the schedule is in, such as Europe/Berlin",
    "started_by": "the user whose runs they are",
}


class Command(BaseCommand):
    """One subcommand a verb."""

    help = (
        "Cron: list | save KEY --agent A --task T --schedule '30 2 * * *' --timezone Europe/Berlin --started-by USER | "
        "pause KEY | resume KEY | run KEY | fires KEY | remove KEY"
    )

    def add_arguments(self, parser: CommandParser) -> None:
        """One subcommand a verb."""
        verbs = parser.add_subparsers(dest="verb", required=True)
        verbs.add_parser("list", help="every trigger, its next slot and its last fire")
        save = verbs.add_parser("save", help="keep a trigger; what is left out stays")
        save.add_argument("key")
        for name, told in FIELDS.items():
            save.add_argument(f"--{name.replace('_', '-')}", dest=name, help=told)
        save.add_argument(
            "--catch-up",
            choices=("yes", "no"),
            help="whether the latest slot that was missed is fired late",
        )
        for verb, told in (
            ("pause", "fire nothing of it until it is resumed; runs of it go on"),
            ("resume", "fire from the next slot on"),
            ("run", "start a run now, beside its slots"),
            ("remove", "forget a trigger; runs of it go on"),
        ):
            verbs.add_parser(verb, help=told).add_argument("key")
        fires = verbs.add_parser("fires", help="what became of its slots, newest first")
        fires.add_argument("key")
        fires.add_argument("--limit", type=_limit, default=20, metavar="1..200")

    def handle(self, *args: Any, **options: Any) -> None:
        """Do what the subcommand says."""
        getattr(self, f"_{options['verb']}")(options)

    def _list(self, _options: dict[str, Any]) -> None:
        triggers = list(CronTrigger.objects.all()[:MOST_LISTED])
        last = last_fires(triggers)
        self.stdout.write(aligned(HEADS, [_row(it, last.get(it.key)) for it in triggers]))

    def _save(self, options: dict[str, Any]) -> None:
        given = {name: options[name] for name in FIELDS if options[name] is not None}
        if options["catch_up"]:
            given["catch_up"] = options["catch_up"] == "yes"
        self._tell(save_trigger(options["key"], given, saver=_saver()))

    def _pause(self, options: dict[str, Any]) -> None:
        self._switch(options["key"], to_enabled=False)

    def _resume(self, options: dict[str, Any]) -> None:
        self._switch(options["key"], to_enabled=True)

    def _switch(self, key: str, *, to_enabled: bool) -> None:
        find_trigger(key)
        self._tell(save_trigger(key, {"is_enabled": to_enabled}, saver=_saver()))

    def _run(self, options: dict[str, Any]) -> None:
        try:
            arrived = run_now(options["key"], actor=operator_name())
        except Throttled as error:
            raise Conflict(str(error.detail)) from error
        self.stdout.write(f"{options['key']}: run {arrived.run_id} is started")

    def _fires(self, options: dict[str, Any]) -> None:
        fires = CronFire.objects.filter(source=find_trigger(options["key"]).key)
        rows = [
            (slot_of(it), kind_of(it), it.state, it.outcome, it.run_id if it.started_at else "", it.reason)
            for it in fires[: options["limit"]]
        ]  # fmt: skip
        self.stdout.write(aligned(FIRE_HEADS, rows))

    def _remove(self, options: dict[str, Any]) -> None:
        remove_trigger(options["key"], actor=operator_name())
        self.stdout.write(f"{options['key']}: removed")

    def _tell(self, trigger: CronTrigger) -> None:
        following = f"fires next at {slot_id(trigger.next_slot)}" if trigger.next_slot else "paused"
        self.stdout.write(
            visible(
                f"{trigger.key}: {following}; its runs are {trigger.agent_key}'s, started by {trigger.started_by}"
            )
        )


def _limit(text: str) -> int:
    if text.isascii() and text.isdigit() and len(text) < 4 and 1 <= int(text) <= MOST_FIRES:
        return int(text)
    raise ArgumentTypeError(f"{text!r} is no whole number from 1 to {MOST_FIRES}")


def _row(trigger: CronTrigger, last: CronFire | None) -> tuple[object, ...]:
    state = "stopped: " + trigger.problem if trigger.problem else "enabled" if trigger.is_enabled else "paused"  # fmt: skip
    fired = (slot_of(last) or kind_of(last), last.outcome or last.state) if last else ("", "")
    return (
        trigger.key, state, trigger.agent_key, trigger.schedule, trigger.timezone, trigger.next_slot, *fired,
        trigger.started_by,
    )  # fmt: skip


def _saver() -> Saver:
    return Saver(actor=operator_name(), may_name_others=True)
