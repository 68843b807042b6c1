"""`/api/sources`: what agents search, its documents, and a sync by hand."""

from __future__ import annotations

from collections.abc import Sequence
from http import HTTPStatus
from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from liyagent.access.permissions import OPERATE, VIEW_AGENT
from liyagent.access.views import GuardedView
from liyagent.core.bodies import once_each
from liyagent.core.errors import BadInput
from liyagent.core.paging import PAGING, check_names, next_link, page_by
from liyagent.gateway.policies_api import PAGES
from liyagent.jobs.serializers import AskedSerializer, JobSerializer
from liyagent.jobs.sources.models import Document, Source
from liyagent.jobs.sources.save import find_source, remove_source, save_source
from liyagent.jobs.sources.serializers import (
    DocumentPage,
    DocumentSerializer,
    SourceInput,
    SourcePage,
    SourceSerializer,
)
from liyagent.jobs.sources.standing import counts, last_syncs
from liyagent.jobs.sources.sync import ask_sync
from missions.context import current_stamp


class SourceList(GuardedView):
    """`GET /api/sources`: by key, each with its newest sync."""

    needs = {"GET": (VIEW_AGENT,)}

    @extend_schema(parameters=PAGES, responses=SourcePage)
    def get(self, request: Request) -> Response:
        """List the sources."""
        asked = once_each(request.query_params)
        check_names(asked, PAGING)
        page = page_by(Source.objects.all(), asked, field="key")
        return Response(
            {
                "sources": _shown(page.rows),
                "next": next_link(request.path, asked, page.next_cursor),
            }
        )


class SourceOne(GuardedView):
    """`GET`, `PUT` and `DELETE /api/sources/{key}`."""

    needs = {"GET": (VIEW_AGENT,), "PUT": (OPERATE,), "DELETE": (OPERATE,)}

    @extend_schema(responses=SourceSerializer)
    def get(self, request: Request, key: str) -> Response:
        """Show a source."""
        return Response(_shown([find_source(key)])[0])

    @extend_schema(
        request=SourceInput,
        responses={HTTPStatus.OK: SourceSerializer, HTTPStatus.CREATED: SourceSerializer},
    )
    def put(self, request: Request, key: str) -> Response:
        """Keep a source; what is left out stays. Nothing is read before a sync."""
        if not isinstance(request.data, dict):
            raise BadInput("the body wants an object: what is declared of the source")
        is_new = not Source.objects.filter(key=key).exists()
        source = save_source(key, request.data, actor=request.user.get_username())
        status = HTTPStatus.CREATED if is_new else HTTPStatus.OK
        return Response(_shown([source])[0], status=status)

    @extend_schema(responses={HTTPStatus.NO_CONTENT: None})
    def delete(self, request: Request, key: str) -> Response:
        """Forget a source and its documents."""
        remove_source(key, actor=request.user.get_username())
        return Response(status=HTTPStatus.NO_CONTENT)


class SourceSync(GuardedView):
    """`POST /api/sources/{key}/sync`: in the background, by any process."""

    needs = {"POST": (OPERATE,)}

    @extend_schema(request=None, responses={HTTPStatus.ACCEPTED: AskedSerializer})
    def post(self, request: Request, key: str) -> Response:
        """Ask for a sync; 202 once it is stored. One that goes on already is told instead."""
        stamp = current_stamp()
        actor = request.user.get_username()
        asked = ask_sync(key, asked_by=actor, mission=stamp.mission or stamp.request_id)
        told = {"job": JobSerializer(asked.job).data, "is_new": asked.is_new}
        return Response(told, status=HTTPStatus.ACCEPTED)


class DocumentList(GuardedView):
    """`GET /api/sources/{key}/documents`: by path, without their texts."""

    needs = {"GET": (VIEW_AGENT,)}

    @extend_schema(parameters=PAGES, responses=DocumentPage)
    def get(self, request: Request, key: str) -> Response:
        """List the documents of a source."""
        asked = once_each(request.query_params)
        check_names(asked, PAGING)
        rows = Document.objects.filter(source=find_source(key)).defer("text", "search")
        page = page_by(rows, asked, field="path")
        return Response(
            {
                "documents": DocumentSerializer(page.rows, many=True).data,
                "next": next_link(request.path, asked, page.next_cursor),
            }
        )


def _shown(sources: Sequence[Source]) -> list[dict[str, Any]]:
    context = {"last_syncs": last_syncs(sources), "counts": counts(sources)}
    return [dict(SourceSerializer(it, context=context).data) for it in sources]
