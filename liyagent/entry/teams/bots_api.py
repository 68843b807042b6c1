"""`/api/teams`: bots, people and turns."""

from __future__ import annotations

from http import HTTPStatus
from typing import Any
from uuid import UUID

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from liyagent.access.permissions import OPERATE, VIEW_AGENT, VIEW_RUN, holds
from liyagent.access.views import GuardedView
from liyagent.core.bodies import once_each
from liyagent.core.errors import BadInput
from liyagent.core.paging import (
    PAGING,
    bad_cursor,
    check_names,
    limit_of,
    next_link,
    page_by,
    read_cursor,
    write_cursor,
)
from liyagent.entry.teams.bots import find_bot, remove_bot, save_bot, switch_bot
from liyagent.entry.teams.models import TeamsBot, TeamsPerson, TeamsTurn
from liyagent.entry.teams.people import find_person, remove_person, save_person
from liyagent.entry.teams.serializers import (
    BotInput,
    BotPage,
    BotSerializer,
    PersonInput,
    PersonPage,
    PersonSerializer,
    TurnPage,
    TurnSerializer,
)
from liyagent.entry.whom import NAME_OTHERS, Saver
from liyagent.gateway.policies_api import PAGES


def saver_of(request: Request) -> Saver:
    """Return who saves, and whether they may name others."""
    name = request.user.get_username()
    return Saver(actor=name, username=name, may_name_others=holds(request, NAME_OTHERS))


class TeamsBotList(GuardedView):
    """`GET /api/teams/bots`: by key."""

    needs = {"GET": (VIEW_AGENT,)}

    @extend_schema(parameters=PAGES, responses=BotPage)
    def get(self, request: Request) -> Response:
        """List the bots."""
        asked = once_each(request.query_params)
        check_names(asked, PAGING)
        page = page_by(TeamsBot.objects.all(), asked, field="key")
        return Response(
            {
                "bots": BotSerializer(page.rows, many=True).data,
                "next": next_link(request.path, asked, page.next_cursor),
            }
        )


class TeamsBotOne(GuardedView):
    """`GET`, `PUT` and `DELETE /api/teams/bots/{key}`.

    Its runs are started by `started_by`: whoever saves it last, or somebody else named by who holds `auth.change_user`.
    """

    needs = {"GET": (VIEW_AGENT,), "PUT": (OPERATE,), "DELETE": (OPERATE,)}

    @extend_schema(responses=BotSerializer)
    def get(self, request: Request, key: str) -> Response:
        """Show a bot."""
        return Response(BotSerializer(find_bot(key)).data)

    @extend_schema(
        request=BotInput,
        responses={HTTPStatus.OK: BotSerializer, HTTPStatus.CREATED: BotSerializer},
    )
    def put(self, request: Request, key: str) -> Response:
        """Keep a bot; what is left out stays."""
        if not isinstance(request.data, dict):
            raise BadInput("the body wants an object: what is declared of the bot")
        is_new = not TeamsBot.objects.filter(key=key).exists()
        bot = save_bot(key, request.data, saver=saver_of(request))
        status = HTTPStatus.CREATED if is_new else HTTPStatus.OK
        return Response(BotSerializer(bot).data, status=status)

    @extend_schema(responses={HTTPStatus.NO_CONTENT: None})
    def delete(self, request: Request, key: str) -> Response:
        """Forget a bot; 409 while turns of it go on."""
        remove_bot(key, actor=request.user.get_username())
        return Response(status=HTTPStatus.NO_CONTENT)


class TeamsBotEnable(GuardedView):
    """`POST /api/teams/bots/{key}/enable`."""

    needs = {"POST": (OPERATE,)}

    @extend_schema(request=None, responses=BotSerializer)
    def post(self, request: Request, key: str) -> Response:
        """Let a bot receive."""
        return _switched(request, key, to_enabled=True)


class TeamsBotDisable(GuardedView):
    """`POST /api/teams/bots/{key}/disable`: what it received before goes on, and is answered."""

    needs = {"POST": (OPERATE,)}

    @extend_schema(request=None, responses=BotSerializer)
    def post(self, request: Request, key: str) -> Response:
        """Let a bot receive nothing more."""
        return _switched(request, key, to_enabled=False)


class TeamsTurnList(GuardedView):
    """`GET /api/teams/bots/{key}/turns`: newest first, without any words."""

    needs = {"GET": (VIEW_RUN,)}

    @extend_schema(parameters=PAGES, responses=TurnPage)
    def get(self, request: Request, key: str) -> Response:
        """List the turns of a bot."""
        asked = once_each(request.query_params)
        check_names(asked, PAGING)
        limit = limit_of(asked)
        rows = TeamsTurn.objects.filter(bot_key=find_bot(key).key).order_by("-run_id")
        if "cursor" in asked:
            rows = rows.filter(run_id__lt=_run_id(asked["cursor"]))
        found = list(rows[: limit + 1])
        more = write_cursor([str(found[limit - 1].run_id)]) if len(found) > limit else ""
        return Response(
            {
                "turns": TurnSerializer(found[:limit], many=True).data,
                "next": next_link(request.path, asked, more),
            }
        )


class TeamsPersonList(GuardedView):
    """`GET /api/teams/people`: by account."""

    needs = {"GET": (VIEW_AGENT,)}

    @extend_schema(parameters=PAGES, responses=PersonPage)
    def get(self, request: Request) -> Response:
        """List the accounts that are known."""
        asked = once_each(request.query_params)
        check_names(asked, PAGING)
        page = page_by(TeamsPerson.objects.all(), asked, field="aad_object_id")
        return Response(
            {
                "people": PersonSerializer(page.rows, many=True).data,
                "next": next_link(request.path, asked, page.next_cursor),
            }
        )


class TeamsPersonOne(GuardedView):
    """`GET`, `PUT` and `DELETE /api/teams/people/{account}`, by the object id of the account in Entra.

    Anybody who may operate says which account is theirs; who holds `auth.change_user`, also whose another is.
    """

    needs = {"GET": (VIEW_AGENT,), "PUT": (OPERATE,), "DELETE": (OPERATE,)}

    @extend_schema(responses=PersonSerializer)
    def get(self, request: Request, account: str) -> Response:
        """Show which user an account is."""
        return Response(PersonSerializer(find_person(account)).data)

    @extend_schema(request=PersonInput, responses=PersonSerializer)
    def put(self, request: Request, account: str) -> Response:
        """Say which user an account is."""
        given = PersonInput(data=request.data)
        given.is_valid(raise_exception=True)
        username = given.validated_data["username"]
        return Response(PersonSerializer(save_person(account, username, saver=saver_of(request))).data)  # fmt: skip

    @extend_schema(responses={HTTPStatus.NO_CONTENT: None})
    def delete(self, request: Request, account: str) -> Response:
        """Let an account be nobody."""
        remove_person(account, actor=request.user.get_username())
        return Response(status=HTTPStatus.NO_CONTENT)


def _switched(request: Request, key: str, *, to_enabled: bool) -> Response:
    bot = switch_bot(key, to_enabled=to_enabled, actor=request.user.get_username())
    return Response(BotSerializer(bot).data)


def _run_id(cursor: str) -> Any:
    (text,) = read_cursor(cursor, parts=1)
    try:
        return UUID(text)
    except ValueError:
        raise bad_cursor() from None
