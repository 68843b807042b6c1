"""`/api/handoffs` and `/api/handoff-snapshots`: what was handed to whom, kept so that it can be shown as it was (HO-05)."""

from __future__ import annotations

from http import HTTPStatus
from uuid import UUID

from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from handoffs.listing import list_threads
from handoffs.note_reading import note_reading
from handoffs.open_thread import Written, open_thread
from handoffs.parser import HandoffParser
from handoffs.read_snapshot import read_snapshot
from handoffs.read_thread import read_thread
from handoffs.revise import revise
from handoffs.serializers import (
    HandoffInput,
    HandoffPageSerializer,
    HandoffReadingInput,
    HandoffReadingSerializer,
    HandoffReviseInput,
    HandoffSnapshotSerializer,
    HandoffThreadSerializer,
    HandoffWrittenSerializer,
)
from handoffs.shown import facts_of, shown_listed, shown_snapshot, shown_thread
from liyagent.access.permissions import OPERATE, VIEW_RUN, may_read_words
from liyagent.access.views import GuardedView
from liyagent.core.bodies import once_each, start_key_of
from liyagent.core.paging import MOST_PAGE, next_link

LIST_PARAMETERS = [
    OpenApiParameter("mission", str),
    OpenApiParameter("limit", {"type": "integer", "minimum": 1, "maximum": MOST_PAGE}),
    OpenApiParameter("cursor", str, description="What a page's `next` named."),
]
OPEN_PARAMETERS = [
    OpenApiParameter(
        "Idempotency-Key",
        str,
        OpenApiParameter.HEADER,
        description="1 to 255 visible ASCII characters; asked again with it, the same thread is told.",
    ),
    OpenApiParameter(
        "X-Liyagent-Mission", str, OpenApiParameter.HEADER, description="The mission it is part of."
    ),
]


class HandoffList(GuardedView):
    """`/api/handoffs`: threads, the newest first, without what was handed over; and a new one.

    `next` leads on, with the same filter, until it is null. A page of a mission can be short, or empty, and yet lead on.
    """

    needs = {"GET": (VIEW_RUN,), "POST": (OPERATE,)}
    parser_classes = (HandoffParser,)

    @extend_schema(parameters=LIST_PARAMETERS, responses=HandoffPageSerializer)
    def get(self, request: Request) -> Response:
        """Show a page of threads."""
        asked = once_each(request.query_params)
        page = list_threads(asked)
        shown = HandoffPageSerializer(
            {
                "handoffs": [shown_listed(it) for it in page.threads],
                "next": next_link(request.path, asked, page.next_cursor),
            }
        )
        return Response(shown.data)

    @extend_schema(
        parameters=OPEN_PARAMETERS,
        request=HandoffInput,
        responses={
            HTTPStatus.OK: HandoffWrittenSerializer,
            HTTPStatus.CREATED: HandoffWrittenSerializer,
        },
    )
    def post(self, request: Request) -> Response:
        """Hand something to an agent or a person; 200 where the same `Idempotency-Key` handed it over before.

        400 `handoff.bad` names the path of what cannot be handed over, 409 `handoff.key_reused` tells that the key began
        another thread.
        """
        key = start_key_of(request)
        given = HandoffInput(data=request.data)
        given.is_valid(raise_exception=True)
        actor = request.user.get_username()
        return _written(open_thread(**given.validated_data, actor=actor, idempotency_key=key))


class HandoffOne(GuardedView):
    """`GET /api/handoffs/{thread}`: every version, each verified, whether the chain holds, and who read which."""

    needs = {"GET": (VIEW_RUN,)}

    @extend_schema(responses=HandoffThreadSerializer)
    def get(self, request: Request, thread: UUID) -> Response:
        """Show a thread; the bodies to who may read words."""
        told = shown_thread(read_thread(thread), with_words=may_read_words(request))
        return Response(HandoffThreadSerializer(told).data)


class HandoffVersions(GuardedView):
    """`POST /api/handoffs/{thread}/versions`: revise it; only the newest version can be."""

    needs = {"POST": (OPERATE,)}
    parser_classes = (HandoffParser,)

    @extend_schema(
        request=HandoffReviseInput,
        responses={
            HTTPStatus.OK: HandoffWrittenSerializer,
            HTTPStatus.CREATED: HandoffWrittenSerializer,
        },
    )
    def post(self, request: Request, thread: UUID) -> Response:
        """Put a version in the place of `expected_version`; 200 where this very one was written before.

        409 `handoff.stale` tells which version the thread stands at, and its digest.
        """
        given = HandoffReviseInput(data=request.data)
        given.is_valid(raise_exception=True)
        actor = request.user.get_username()
        return _written(revise(thread=thread, **given.validated_data, actor=actor))


class HandoffReadings(GuardedView):
    """`POST /api/handoffs/{thread}/readings`: say that you read a version, by the digest of what you read."""

    needs = {"POST": (OPERATE,)}

    @extend_schema(
        request=HandoffReadingInput,
        responses={
            HTTPStatus.OK: HandoffReadingSerializer,
            HTTPStatus.CREATED: HandoffReadingSerializer,
        },
    )
    def post(self, request: Request, thread: UUID) -> Response:
        """Keep that it was read; 200 where that was said before. 409 `handoff.other_digest` where something else was read."""
        given = HandoffReadingInput(data=request.data)
        given.is_valid(raise_exception=True)
        reading, is_new = note_reading(
            thread=thread,
            number=given.validated_data["version"],
            digest=given.validated_data["digest"],
            reader=request.user.get_username(),
        )
        return Response(HandoffReadingSerializer(reading).data, status=_status(is_new))


class SnapshotOne(GuardedView):
    """`GET /api/handoff-snapshots/{digest}`: what was handed over under a digest, hashed again."""

    needs = {"GET": (VIEW_RUN,)}

    @extend_schema(responses=HandoffSnapshotSerializer)
    def get(self, request: Request, digest: str) -> Response:
        """Show a snapshot; what was handed over to who may read words."""
        told = shown_snapshot(read_snapshot(digest), with_words=may_read_words(request))
        return Response(HandoffSnapshotSerializer(told).data)


def _written(written: Written) -> Response:
    headers = {} if written.is_new else {"Idempotent-Replay": "true"}
    shown = HandoffWrittenSerializer(facts_of(written.version)).data
    return Response(shown, status=_status(written.is_new), headers=headers)


def _status(is_new: bool) -> HTTPStatus:
    return HTTPStatus.CREATED if is_new else HTTPStatus.OK
