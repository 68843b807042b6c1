"""`/api/webhook-triggers`: triggers, trying them, and what they let in."""

from __future__ import annotations

from http import HTTPStatus
from typing import Any

from drf_spectacular.utils import OpenApiResponse, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from liyagent.access.permissions import OPERATE, VIEW_AGENT, VIEW_RUN, holds
from liyagent.access.views import GuardedView
from liyagent.core.bodies import once_each
from liyagent.core.errors import BadInput
from liyagent.core.paging import PAGING, check_names, next_link, page_by
from liyagent.core.problems import PROBLEM
from liyagent.entry.webhooks.arrivals import page_of_arrivals
from liyagent.entry.webhooks.errors import TriggerInvalid
from liyagent.entry.webhooks.models import Trigger
from liyagent.entry.webhooks.serializers import (
    WebhookArrivalSerializer,
    WebhookFittedSerializer,
    WebhookTriggerArrivals,
    WebhookTriggerInput,
    WebhookTriggerPage,
    WebhookTriggerSerializer,
    WebhookTryInput,
)
from liyagent.entry.webhooks.triggers import (
    find_trigger,
    remove_trigger,
    save_trigger,
    switch_trigger,
    try_trigger,
)
from liyagent.entry.whom import NAME_OTHERS, Saver
from liyagent.gateway.policies_api import PAGES

TRIED = ("mapping", "filter", "delivery_id", "payload")
MISFIT = {
    (HTTPStatus.UNPROCESSABLE_ENTITY, PROBLEM): OpenApiResponse(
        {"$ref": "#/components/schemas/Problem"},
        description="The payload does not fit; `errors` names what of the trigger.",
    )
}


class WebhookTriggerList(GuardedView):
    """`GET /api/webhook-triggers`: by key."""

    needs = {"GET": (VIEW_AGENT,)}

    @extend_schema(parameters=PAGES, responses=WebhookTriggerPage)
    def get(self, request: Request) -> Response:
        """List the triggers."""
        asked = once_each(request.query_params)
        check_names(asked, PAGING)
        page = page_by(Trigger.objects.all(), asked, field="key")
        return Response(
            {
                "triggers": WebhookTriggerSerializer(page.rows, many=True).data,
                "next": next_link(request.path, asked, page.next_cursor),
            }
        )


class WebhookTriggerOne(GuardedView):
    """`GET`, `PUT` and `DELETE /api/webhook-triggers/{key}`.

    Its runs are started by `started_by`: whoever saves it last, or somebody else named by who holds `auth.change_user`.
    """

    needs = {"GET": (VIEW_AGENT,), "PUT": (OPERATE,), "DELETE": (OPERATE,)}

    @extend_schema(responses=WebhookTriggerSerializer)
    def get(self, request: Request, key: str) -> Response:
        """Show a trigger."""
        return Response(WebhookTriggerSerializer(find_trigger(key)).data)

    @extend_schema(
        request=WebhookTriggerInput,
        responses={
            HTTPStatus.OK: WebhookTriggerSerializer,
            HTTPStatus.CREATED: WebhookTriggerSerializer,
            **MISFIT,
        },
    )
    def put(self, request: Request, key: str) -> Response:
        """Keep a trigger; what is left out stays. 422 where its sample does not fit."""
        given = _object(request)
        name = request.user.get_username()
        is_new = not Trigger.objects.filter(key=key.replace("\x00", "")).exists()
        saver = Saver(actor=name, username=name, may_name_others=holds(request, NAME_OTHERS))
        trigger = save_trigger(key, given, saver=saver)
        status = HTTPStatus.CREATED if is_new else HTTPStatus.OK
        return Response(WebhookTriggerSerializer(trigger).data, status=status)

    @extend_schema(responses={HTTPStatus.NO_CONTENT: None})
    def delete(self, request: Request, key: str) -> Response:
        """Forget a trigger; what it received goes on."""
        remove_trigger(key, actor=request.user.get_username())
        return Response(status=HTTPStatus.NO_CONTENT)


class WebhookTriggerEnable(GuardedView):
    """`POST /api/webhook-triggers/{key}/enable`."""

    needs = {"POST": (OPERATE,)}

    @extend_schema(request=None, responses=WebhookTriggerSerializer)
    def post(self, request: Request, key: str) -> Response:
        """Let a trigger's calls in."""
        return _switched(request, key, to_enabled=True)


class WebhookTriggerDisable(GuardedView):
    """`POST /api/webhook-triggers/{key}/disable`: what it received before goes on."""

    needs = {"POST": (OPERATE,)}

    @extend_schema(request=None, responses=WebhookTriggerSerializer)
    def post(self, request: Request, key: str) -> Response:
        """Let no call of a trigger in."""
        return _switched(request, key, to_enabled=False)


class WebhookTriggerTry(GuardedView):
    """`POST /api/webhook-triggers/{key}/try`: what a payload would start; nothing is kept, nothing is started."""

    needs = {"POST": (OPERATE,)}

    @extend_schema(
        request=WebhookTryInput, responses={HTTPStatus.OK: WebhookFittedSerializer, **MISFIT}
    )
    def post(self, request: Request, key: str) -> Response:
        """Try a payload with a trigger, or with what is given instead of it. 422 where it does not fit."""
        given = _object(request)
        unknown = [name for name in given if name not in TRIED]
        if unknown or "payload" not in given:
            name = unknown[0][:80] if unknown else "payload"
            said = (
                f"is not known; the known ones are {', '.join(TRIED)}" if unknown else "is missing"
            )
            raise TriggerInvalid({name: said})
        payload = given.pop("payload")
        return Response(WebhookFittedSerializer(try_trigger(key, given, payload)).data)


class WebhookTriggerArrivalList(GuardedView):
    """`GET /api/webhook-triggers/{key}/arrivals`: newest first, without any words."""

    needs = {"GET": (VIEW_RUN,)}

    @extend_schema(parameters=PAGES, responses=WebhookTriggerArrivals)
    def get(self, request: Request, key: str) -> Response:
        """List what a trigger let in, for 30 days after it ended."""
        asked = once_each(request.query_params)
        check_names(asked, PAGING)
        page = page_of_arrivals(find_trigger(key), asked)
        return Response(
            {
                "arrivals": WebhookArrivalSerializer(page.rows, many=True).data,
                "next": next_link(request.path, asked, page.next_cursor),
            }
        )


def _switched(request: Request, key: str, *, to_enabled: bool) -> Response:
    trigger = switch_trigger(key, to_enabled=to_enabled, actor=request.user.get_username())
    return Response(WebhookTriggerSerializer(trigger).data)


def _object(request: Request) -> dict[str, Any]:
    if not isinstance(request.data, dict):
        raise BadInput("the body wants an object: what is declared of the trigger")
    return dict(request.data)
