"""`manage.py webhooks`: triggers, trying them, and what they let in."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from liyagent.core.errors import BadInput
from liyagent.core.operator import operator_name
from liyagent.core.tables import aligned, visible
from liyagent.entry.webhooks.arrivals import page_of_arrivals
from liyagent.entry.webhooks.models import Trigger
from liyagent.entry.webhooks.receive import read_payload
from liyagent.entry.webhooks.triggers import (
    MOST_SAMPLE_BYTES,
    find_trigger,
    remove_trigger,
    save_trigger,
    switch_trigger,
    try_trigger,
)
from liyagent.entry.whom import Saver

MOST_LISTED = 1000
HEADS = ("TRIGGER", "KIND", "STATE", "AGENT", "STARTED BY", "SIGNED BY", "SECRETS IN", "A MINUTE", "MISFITS")  # fmt: skip
ARRIVAL_HEADS = ("RECEIVED", "DELIVERY", "STATE", "OUTCOME", "RUN", "REASON")
FITTING = {
    "filter": "a condition (JMESPath) on the payload; what it does not hold of is ignored",
    "delivery_id": "a template of what names a delivery; without one, webhook-id does",
}
FIELDS = {
    "kind": "webhook or ticket: the way that its runs came by",
    "agent": "the agent that they start",
    "started_by": "the user whose runs they are",
    "scheme": "standard (Standard Webhooks) or hmac",
    "signature_header": "of hmac: the header with the signature",
    "signature_prefix": "of hmac: what stands before it",
    **FITTING,
}


class Command(BaseCommand):
    """One subcommand a verb."""

    help = (
        "Webhooks: list | save KEY --kind K --agent A --secret-env NAME --task TEMPLATE --started-by USER --sample FILE | "
        "try KEY FILE | arrivals KEY | enable KEY | disable KEY | remove KEY"
    )

    def add_arguments(self, parser: CommandParser) -> None:
        """One subcommand a verb."""
        verbs = parser.add_subparsers(dest="verb", required=True)
        verbs.add_parser("list", help="every trigger")
        save = verbs.add_parser("save", help="keep a trigger; what is left out stays")
        save.add_argument("key")
        _add_mapping(save, FIELDS)
        save.add_argument("--secret-env", dest="secret_envs", action="append", help="a variable with a secret; up to four times, newest first")  # fmt: skip
        save.add_argument("--most-a-minute", type=int, help="calls that are taken on")
        save.add_argument("--sample", help="a file with a payload to try it with, - for standard input; it is not kept")  # fmt: skip
        tried = verbs.add_parser("try", help="what a payload would start; nothing is started")
        tried.add_argument("key")
        tried.add_argument("file", help="the payload, - for standard input")
        _add_mapping(tried, FITTING)
        arrivals = verbs.add_parser("arrivals", help="what it let in, newest first")
        arrivals.add_argument("key")
        arrivals.add_argument("--limit", default="50", help="how many, at most 200")
        for verb, told in (
            ("enable", "let its calls in"),
            ("disable", "let no call in; what it received goes on"),
            ("remove", "forget a trigger; what it received goes on"),
        ):
            verbs.add_parser(verb, help=told).add_argument("key")

    def handle(self, *args: Any, **options: Any) -> None:
        """Do what the subcommand says."""
        getattr(self, f"_{options['verb']}")(options)

    def _list(self, _options: dict[str, Any]) -> None:
        rows = [
            (
                it.key, it.kind, "enabled" if it.is_enabled else "disabled", it.agent_key, it.started_by, it.scheme,
                " ".join(it.secret_envs), it.most_a_minute, it.misfits,
            )
            for it in Trigger.objects.all()[:MOST_LISTED]
        ]  # fmt: skip
        self.stdout.write(aligned(HEADS, rows))

    def _save(self, options: dict[str, Any]) -> None:
        named = (*FIELDS, "secret_envs", "most_a_minute")
        given = _given(options, named)
        if options["sample"] is not None:
            given["sample"] = _payload(options["sample"])
        saver = Saver(actor=operator_name(), may_name_others=True)
        it = save_trigger(options["key"], given, saver=saver)
        self.stdout.write(visible(f"{it.key}: kept; a call at /hooks/{it.key} starts agent {it.agent_key} as {it.started_by}"))  # fmt: skip

    def _try(self, options: dict[str, Any]) -> None:
        found = try_trigger(options["key"], _given(options, FITTING), _payload(options["file"]))
        told = {
            "is_wanted": found.is_wanted,
            "delivery_id": found.delivery_id or "webhook-id",
            "mission": found.mission or None,
            "task": found.task,
        }
        self.stdout.write(visible(json.dumps(told, indent=2, ensure_ascii=False)))

    def _arrivals(self, options: dict[str, Any]) -> None:
        page = page_of_arrivals(find_trigger(options["key"]), {"limit": options["limit"]})
        rows = [
            (it.received_at, it.delivery_id, it.state, it.outcome, it.run_id, it.reason)
            for it in page.rows
        ]
        self.stdout.write(aligned(ARRIVAL_HEADS, rows))

    def _enable(self, options: dict[str, Any]) -> None:
        switch_trigger(options["key"], to_enabled=True, actor=operator_name())
        self.stdout.write(f"{options['key']}: enabled")

    def _disable(self, options: dict[str, Any]) -> None:
        switch_trigger(options["key"], to_enabled=False, actor=operator_name())
        self.stdout.write(f"{options['key']}: disabled")

    def _remove(self, options: dict[str, Any]) -> None:
        remove_trigger(options["key"], actor=operator_name())
        self.stdout.write(f"{options['key']}: removed")


def _add_mapping(parser: CommandParser, fields: dict[str, str]) -> None:
    for name, told in fields.items():
        parser.add_argument(f"--{name.replace('_', '-')}", dest=name, help=told)
    parser.add_argument("--task", help="a template of what the agent is asked, with {{ dotted.path }} into the payload")  # fmt: skip
    parser.add_argument("--mission", help="a template of the mission; only with --task")


def _given(options: dict[str, Any], names: Any) -> dict[str, Any]:
    given = {name: options[name] for name in names if options[name] is not None}
    if options["mission"] is not None and options["task"] is None:
        raise BadInput("--mission wants --task beside it: a mapping is given as a whole")
    if options["task"] is not None:
        given["mapping"] = {"task": options["task"], "mission": options["mission"] or ""}
    return given


def _payload(name: str) -> Any:
    most = MOST_SAMPLE_BYTES + 1
    if name == "-":
        body = sys.stdin.buffer.read(most)
    else:
        with Path(name).open("rb") as file:
            body = file.read(most)
    if len(body) == most:
        raise BadInput(f"{name} has more than {MOST_SAMPLE_BYTES} bytes")
    return read_payload(body)
