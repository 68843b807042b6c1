"""`/api/tickets`: what people are to do, what was written on it, and what became of it."""

from __future__ import annotations

from http import HTTPStatus
from uuid import UUID

from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from liyagent.access.permissions import (
    VIEW_TICKET,
    WORK_ON_TICKETS,
    holds,
    may_read_words,
)
from liyagent.access.views import GuardedView
from liyagent.core.bodies import once_each
from liyagent.core.paging import MOST_PAGE, next_link
from liyagent.tickets.change_ticket import change_ticket
from liyagent.tickets.comment_ticket import comment_ticket
from liyagent.tickets.find import find_ticket
from liyagent.tickets.listing import list_tickets
from liyagent.tickets.models import Priority, TicketState
from liyagent.tickets.serializers import (
    TicketChangeInput,
    TicketCommentInput,
    TicketCommentSerializer,
    TicketCommentsSerializer,
    TicketPageSerializer,
    TicketSerializer,
    TicketToldSerializer,
)
from liyagent.tickets.told import comment_told, comments_told, ticket_told

PAGES = [
    OpenApiParameter("limit", {"type": "integer", "minimum": 1, "maximum": MOST_PAGE}),
    OpenApiParameter("cursor", str, description="What a page's `next` or `before` named."),
]
LIST_PARAMETERS = [
    OpenApiParameter("state", str, enum=TicketState.values),
    OpenApiParameter("priority", str, enum=Priority.values),
    *(OpenApiParameter(name, str) for name in ("queue", "mission")),
    OpenApiParameter("run", UUID, description="The run that it was filed for."),
    *PAGES,
]


class TicketList(GuardedView):
    """`GET /api/tickets`: the newest first, none of their words.

    `next` leads on, with the same filters, until it is null. A page can be short, or empty, and yet lead on: for a second
    filter at most 10,000 tickets are looked through for one page.
    """

    needs = {"GET": (VIEW_TICKET,)}

    @extend_schema(parameters=LIST_PARAMETERS, responses=TicketPageSerializer)
    def get(self, request: Request) -> Response:
        """Show a page of tickets."""
        asked = once_each(request.query_params)
        page = list_tickets(asked)
        return Response(
            {
                "tickets": TicketSerializer(page.rows, many=True).data,
                "next": next_link(request.path, asked, page.next_cursor),
            }
        )


class TicketOne(GuardedView):
    """`/api/tickets/{number}`: a ticket such as `T-000123`; its words to who works on tickets, or may read words."""

    needs = {"GET": (VIEW_TICKET,), "PATCH": (WORK_ON_TICKETS,)}

    @extend_schema(responses=TicketToldSerializer)
    def get(self, request: Request, number: str) -> Response:
        """Show a ticket with its body and its newest comments."""
        told = ticket_told(find_ticket(number), with_words=_with_words(request))
        shown = TicketToldSerializer(
            {
                "ticket": told.ticket,
                "body": told.body,
                "words_missing": told.words_missing,
                "comments": told.comments,
                "before": next_link(f"{request.path}/comments", {}, told.before),
            }
        )
        return Response(shown.data)

    @extend_schema(request=TicketChangeInput, responses=TicketSerializer)
    def patch(self, request: Request, number: str) -> Response:
        """Change a ticket as it was shown: its state, its priority, its queue.

        409 `ticket.changed` where somebody else changed it since `revision`, `ticket.closed` where it is closed.
        """
        given = TicketChangeInput(data=request.data)
        given.is_valid(raise_exception=True)
        ticket = change_ticket(
            number=number, actor=request.user.get_username(), **given.validated_data
        )
        return Response(TicketSerializer(ticket).data)


class TicketComments(GuardedView):
    """`/api/tickets/{number}/comments`: what people wrote, and a new one; the same again is the one there is."""

    needs = {"GET": (VIEW_TICKET,), "POST": (WORK_ON_TICKETS,)}

    @extend_schema(parameters=PAGES, responses=TicketCommentsSerializer)
    def get(self, request: Request, number: str) -> Response:
        """Show the newest comments, or those before a cursor."""
        asked = once_each(request.query_params)
        comments, before = comments_told(
            find_ticket(number), asked, with_words=_with_words(request)
        )
        shown = TicketCommentsSerializer(
            {"comments": comments, "before": next_link(request.path, asked, before)}
        )
        return Response(shown.data)

    @extend_schema(
        request=TicketCommentInput, responses={HTTPStatus.CREATED: TicketCommentSerializer}
    )
    def post(self, request: Request, number: str) -> Response:
        """Write a comment on a ticket."""
        given = TicketCommentInput(data=request.data)
        given.is_valid(raise_exception=True)
        comment = comment_ticket(
            number=number, text=given.validated_data["text"], actor=request.user.get_username()
        )
        told = comment_told(comment, with_words=_with_words(request))
        return Response(TicketCommentSerializer(told).data, status=HTTPStatus.CREATED)


def _with_words(request: Request) -> bool:
    return may_read_words(request) or holds(request, WORK_ON_TICKETS)
