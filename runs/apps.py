"""The runs room."""

from importlib import import_module

from django.apps import AppConfig

from liyagent.approvals.handlers import BESIDE, CALL, HANDLERS, SAGA
from liyagent.gateway.needed import NEEDS


class RunsConfig(AppConfig):
    """Registers the room's tables."""

    name = "runs"
    label = "runs"

    def ready(self) -> None:
        """Have the deploy check look at this room too, missions tell of it, and the gateway ask it before a server is removed."""
        import_module("runs.checks")
        import_module("runs.seal_rounds")
        import_module("runs.purging")
        import_module("runs.timeline")
        import_module("runs.saga_timeline")
        undo = import_module("runs.undo_mind")
        import_module("runs.minds").MINDS[import_module("runs.undo_run").NAME] = undo.UndoMind
        ticket = import_module("runs.ticket_mind")
        import_module("runs.minds").MINDS[import_module("runs.outside_ticket").NAME] = (
            ticket.TicketMind
        )
        HANDLERS[CALL] = import_module("runs.approved_run").begin_approved_run
        BESIDE[CALL] = import_module("runs.beside_request").beside_request
        behind, hand_off = import_module("runs.behind_end"), import_module("runs.hand_off")
        behind.BEHIND_END.append(hand_off.hand_off_behind)
        again = import_module("runs.again")
        HANDLERS[SAGA], BESIDE[SAGA] = again.decided_about_saga, again.beside_saga
        NEEDS.append(import_module("runs.server_needs").need_of)
        evidence = import_module("runs.evidence_facts")
        import_module("events.reading").FACTS.append(evidence.facts_between)
        import_module("events.chains_of").CHAIN_OF_RUN.append(evidence.chain_of_run)
