"""`/api/cron-triggers`: triggers, what became of their slots, and a run by hand."""

from __future__ import annotations

from collections.abc import Sequence
from http import HTTPStatus
from typing import Any

from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from liyagent.access.permissions import OPERATE, VIEW_AGENT, VIEW_RUN, holds
from liyagent.access.views import GuardedView
from liyagent.core.bodies import once_each, start_key_of
from liyagent.core.errors import BadInput
from liyagent.core.paging import PAGING, check_names, next_link, page_by
from liyagent.entry.cron.fires import last_fires
from liyagent.entry.cron.models import WAY, CronTrigger
from liyagent.entry.cron.run_now import LONGEST_KEY, run_now
from liyagent.entry.cron.serializers import (
    CronFirePage,
    CronFireSerializer,
    CronRunSerializer,
    CronTriggerInput,
    CronTriggerPage,
    CronTriggerSerializer,
)
from liyagent.entry.cron.triggers import find_trigger, remove_trigger, save_trigger
from liyagent.entry.listing import page_of_arrivals
from liyagent.entry.whom import NAME_OTHERS, Saver
from liyagent.gateway.policies_api import PAGES

START_KEY = OpenApiParameter(
    "Idempotency-Key",
    str,
    OpenApiParameter.HEADER,
    description=f"1 to {LONGEST_KEY} visible ASCII characters; asked again with it, the same run is told.",
)


class CronTriggerList(GuardedView):
    """`GET /api/cron-triggers`: by key, each with its last fire."""

    needs = {"GET": (VIEW_AGENT,)}

    @extend_schema(parameters=PAGES, responses=CronTriggerPage)
    def get(self, request: Request) -> Response:
        """List the triggers."""
        asked = once_each(request.query_params)
        check_names(asked, PAGING)
        page = page_by(CronTrigger.objects.all(), asked, field="key")
        return Response(
            {
                "triggers": _shown(page.rows),
                "next": next_link(request.path, asked, page.next_cursor),
            }
        )


class CronTriggerOne(GuardedView):
    """`GET`, `PUT` and `DELETE /api/cron-triggers/{key}`.

    Its runs are started by `started_by`: whoever saves it last, or somebody else named by who holds `auth.change_user`.
    """

    needs = {"GET": (VIEW_AGENT,), "PUT": (OPERATE,), "DELETE": (OPERATE,)}

    @extend_schema(responses=CronTriggerSerializer)
    def get(self, request: Request, key: str) -> Response:
        """Show a trigger."""
        return Response(_shown([find_trigger(key)])[0])

    @extend_schema(
        request=CronTriggerInput,
        responses={HTTPStatus.OK: CronTriggerSerializer, HTTPStatus.CREATED: CronTriggerSerializer},
    )
    def put(self, request: Request, key: str) -> Response:
        """Keep a trigger; what is left out stays. `is_enabled` false pauses it."""
        if not isinstance(request.data, dict):
            raise BadInput("the body wants an object: what is declared of the trigger")
        is_new = not CronTrigger.objects.filter(key=key).exists()
        name = request.user.get_username()
        saver = Saver(actor=name, username=name, may_name_others=holds(request, NAME_OTHERS))
        trigger = save_trigger(key, request.data, saver=saver)
        status = HTTPStatus.CREATED if is_new else HTTPStatus.OK
        return Response(_shown([trigger])[0], status=status)

    @extend_schema(responses={HTTPStatus.NO_CONTENT: None})
    def delete(self, request: Request, key: str) -> Response:
        """Forget a trigger; runs of it go on."""
        remove_trigger(key, actor=request.user.get_username())
        return Response(status=HTTPStatus.NO_CONTENT)


class CronTriggerRun(GuardedView):
    """`POST /api/cron-triggers/{key}/run`: now, beside its slots."""

    needs = {"POST": (OPERATE,)}

    @extend_schema(
        request=None, parameters=[START_KEY], responses={HTTPStatus.ACCEPTED: CronRunSerializer}
    )
    def post(self, request: Request, key: str) -> Response:
        """Start a run of a trigger; 202 once it is stored."""
        actor = request.user.get_username()
        arrived = run_now(key, actor=actor, start_key=start_key_of(request))
        told = {"id": str(arrived.run_id), "is_new": arrived.is_new}
        return Response(told, status=HTTPStatus.ACCEPTED)


class CronFireList(GuardedView):
    """`GET /api/cron-triggers/{key}/fires`: newest first, without any words."""

    needs = {"GET": (VIEW_RUN,)}

    @extend_schema(parameters=PAGES, responses=CronFirePage)
    def get(self, request: Request, key: str) -> Response:
        """List what became of the slots of a trigger."""
        asked = once_each(request.query_params)
        check_names(asked, PAGING)
        page = page_of_arrivals({**asked, "way": WAY, "source": find_trigger(key).key})
        return Response(
            {
                "fires": CronFireSerializer(page.rows, many=True).data,
                "next": next_link(request.path, asked, page.next_cursor),
            }
        )


def _shown(triggers: Sequence[CronTrigger]) -> list[dict[str, Any]]:
    context = {"last_fires": last_fires(triggers)}
    return [dict(CronTriggerSerializer(it, context=context).data) for it in triggers]
