"""No span without its mission: set as a span begins, from what it works for, by the rule that holds everywhere (MI-04)."""

from __future__ import annotations

from uuid import UUID

from opentelemetry.baggage import get_baggage, set_baggage
from opentelemetry.context import Context, get_value, set_value
from opentelemetry.sdk.trace import ReadableSpan, Span, SpanProcessor

from liyagent.telemetry.kinds import MISSION
from missions.names import clean_mission

BAGGAGE = "liyagent.mission"
CORRELATION = "liyagent.correlation"


def context_of(*, mission: str, correlation_id: UUID) -> Context:
    """Return the context in which spans of that work begin."""
    return set_value(CORRELATION, str(correlation_id), set_baggage(BAGGAGE, mission, Context()))


def mission_of(span: ReadableSpan) -> str | None:
    """Return the mission that a span bears, None where it is none that may leave."""
    return clean_mission((span.attributes or {}).get(MISSION))


class MissionProcessor(SpanProcessor):
    """Gives each span that begins its mission; what it was given under that name is overwritten (MI-04, MI-07).

    A mission that does not fit the rule is dropped, and the correlation id stands in for it, as for one that was not
    named (MI-01, MI-02). A span of neither gets none, and is not sent (`Sending`).
    """

    def on_start(self, span: Span, parent_context: Context | None = None) -> None:
        """Set it."""
        named = clean_mission(get_baggage(BAGGAGE, parent_context))
        mission = named or clean_mission(get_value(CORRELATION, parent_context)) or ""
        span.set_attribute(MISSION, mission)
