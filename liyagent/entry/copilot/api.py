"""`/api/copilot/conversations`: conversations with agents, and their turns."""

from __future__ import annotations

from http import HTTPStatus
from uuid import UUID

from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from liyagent.access.permissions import OPERATE, VIEW_RUN, holds, may_read_words
from liyagent.access.views import GuardedView
from liyagent.core.bodies import once_each, start_key_of
from liyagent.core.canonical import digest
from liyagent.core.paging import next_link
from liyagent.entry.copilot.conversations import (
    Person,
    begin_conversation,
    find_conversation,
    page_of_conversations,
    page_of_turns,
)
from liyagent.entry.copilot.models import Turn
from liyagent.entry.copilot.receive import Asking, ask_turn
from liyagent.entry.copilot.serializers import (
    AskInput,
    ConversationInput,
    ConversationPage,
    ConversationSerializer,
    ConversationTold,
    CopilotTurnSerializer,
)
from liyagent.entry.copilot.tell import turns_told
from liyagent.gateway.policies_api import PAGES
from missions.context import current_stamp
from runs.api import MISSION, START_PARAMETERS, wait_asked
from runs.await_end import wait_for_end

TURN_PARAMETERS = [it for it in START_PARAMETERS if it is not MISSION]


class Conversations(GuardedView):
    """`POST` begins a conversation with an agent, `GET` lists one's own, newest first (`owner`: another's, for who may see runs).

    Its turns are of the mission that `X-Liyagent-Mission` names, else of one of their own.
    """

    needs = {"GET": (OPERATE,), "POST": (OPERATE,)}

    @extend_schema(
        parameters=[MISSION],
        request=ConversationInput,
        responses={HTTPStatus.CREATED: ConversationSerializer},
    )
    def post(self, request: Request) -> Response:
        """Begin a conversation."""
        given = ConversationInput(data=request.data)
        given.is_valid(raise_exception=True)
        stamp = current_stamp()
        conversation = begin_conversation(
            _person(request),
            agent_key=given.validated_data["agent"],
            title=given.validated_data.get("title", ""),
            mission=stamp.mission,
            request_id=stamp.request_id,
        )
        return Response(ConversationSerializer(conversation).data, status=HTTPStatus.CREATED)

    @extend_schema(parameters=[OpenApiParameter("owner", str), *PAGES], responses=ConversationPage)
    def get(self, request: Request) -> Response:
        """List conversations."""
        asked = once_each(request.query_params)
        page = page_of_conversations(_person(request), asked)
        return Response(
            {
                "conversations": ConversationSerializer(page.rows, many=True).data,
                "next": next_link(request.path, asked, page.next_cursor),
            }
        )


class ConversationOne(GuardedView):
    """`GET /api/copilot/conversations/{id}`: its turns in their order, each with its answer; for its owner, and who may see runs."""

    needs = {"GET": (OPERATE,)}

    @extend_schema(parameters=PAGES, responses=ConversationTold)
    def get(self, request: Request, conversation_id: UUID) -> Response:
        """Show a conversation."""
        person = _person(request)
        conversation = find_conversation(person, conversation_id)
        asked = once_each(request.query_params)
        page = page_of_turns(conversation, asked)
        return Response(
            {
                **ConversationSerializer(conversation).data,
                "turns_told": turns_told(conversation, page.rows, person),
                "next": next_link(request.path, asked, page.next_cursor),
            }
        )


class Turns(GuardedView):
    """`POST /api/copilot/conversations/{id}/turns`: 202 once turn and run are decided (ruling 29); 200 where it ended within `wait`.

    Whoever hangs up changes nothing: the answer lands on the run's transcript, and stands in the conversation (CR-05).
    """

    needs = {"POST": (OPERATE,)}

    @extend_schema(
        parameters=TURN_PARAMETERS,
        request=AskInput,
        responses={
            HTTPStatus.OK: CopilotTurnSerializer,
            HTTPStatus.ACCEPTED: CopilotTurnSerializer,
        },
    )
    def post(self, request: Request, conversation_id: UUID) -> Response:
        """Ask a turn, or find the one that the same `Idempotency-Key` asked."""
        seconds = wait_asked(request)
        key = start_key_of(request)
        given = AskInput(data=request.data)
        given.is_valid(raise_exception=True)
        person = _person(request)
        taken = ask_turn(
            person,
            Asking(
                conversation_id=conversation_id,
                task=given.validated_data["task"],
                key=key,
                body_digest=digest(request.data),
                request_id=current_stamp().request_id,
            ),
        )
        has_ended = bool(seconds) and wait_for_end(taken.turn.run_id, seconds=seconds)
        turn = Turn.objects.select_related("conversation").get(pk=taken.turn.pk)
        (told,) = turns_told(turn.conversation, [turn], person)
        return Response(
            told,
            status=HTTPStatus.OK if has_ended else HTTPStatus.ACCEPTED,
            headers={} if taken.is_new else {"Idempotent-Replay": "true"},
        )


def _person(request: Request) -> Person:
    return Person(
        username=request.user.get_username(),
        sees_all=holds(request, VIEW_RUN),
        reads_words=may_read_words(request),
    )
