"""`/api/policies`: the Cedar policy sets, their versions, and a call tried against the gates."""

from __future__ import annotations

from http import HTTPStatus

from django.db.models import Exists, OuterRef, QuerySet, Subquery
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.exceptions import PermissionDenied
from rest_framework.request import Request
from rest_framework.response import Response

from liyagent.access.permissions import holds
from liyagent.access.views import GuardedView
from liyagent.core.bodies import once_each
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
from liyagent.gateway.models import Policy
from liyagent.gateway.policies_serializers import (
    PolicySetPage,
    PolicySetSerializer,
    PolicyTextSerializer,
    PolicyVersionPage,
    PolicyVersionSerializer,
    TrialSerializer,
    TryInput,
    VersionInput,
)
from liyagent.gateway.policy_versions import (
    HIGHEST_VERSION,
    activate_policy,
    add_version,
    find_version,
    load_policy,
    newest_version,
)
from liyagent.gateway.try_call import try_call

VIEW_POLICY = "gateway.view_policy"
ADD_POLICY = "gateway.add_policy"
CHANGE_POLICY = "gateway.change_policy"
VIEW_USER = "auth.view_user"
PAGES = [OpenApiParameter("limit", int), OpenApiParameter("cursor", str)]


class PolicySets(GuardedView):
    """`GET /api/policies`: by name."""

    needs = {"GET": (VIEW_POLICY,)}

    @extend_schema(summary="List the policy sets", parameters=PAGES, responses=PolicySetPage)
    def get(self, request: Request) -> Response:
        """Answer with a page of the sets."""
        asked = once_each(request.query_params)
        check_names(asked, PAGING)
        page = page_by(_newest(), asked, field="name")
        return Response(
            {
                "policies": PolicySetSerializer(page.rows, many=True).data,
                "next": next_link(request.path, asked, page.next_cursor),
            }
        )


class PolicyVersions(GuardedView):
    """`GET` and `POST /api/policies/{name}/versions`: the history, newest first, and a version more."""

    needs = {"GET": (VIEW_POLICY,), "POST": (ADD_POLICY,)}

    @extend_schema(
        summary="List the versions of a policy set", parameters=PAGES, responses=PolicyVersionPage
    )
    def get(self, request: Request, name: str) -> Response:
        """Answer with a page of the versions, without their text."""
        asked = once_each(request.query_params)
        check_names(asked, PAGING)
        newest_version(name)
        rows = Policy.objects.defer("text").filter(name=name).order_by("-version")
        if "cursor" in asked:
            rows = rows.filter(version__lt=_version_in(asked["cursor"]))
        limit = limit_of(asked)
        found = list(rows[: limit + 1])
        cursor = write_cursor([str(found[limit - 1].version)]) if len(found) > limit else ""
        return Response(
            {
                "versions": PolicyVersionSerializer(found[:limit], many=True).data,
                "next": next_link(request.path, asked, cursor),
            }
        )

    @extend_schema(
        summary="Add a version to a policy set",
        request=VersionInput,
        responses={HTTPStatus.CREATED: PolicyTextSerializer},
    )
    def post(self, request: Request, name: str) -> Response:
        """Check the text and keep it as the next version; `activate` puts it into force."""
        given = VersionInput(data=request.data)
        given.is_valid(raise_exception=True)
        asked = given.validated_data
        if asked["activate"] and not holds(request, CHANGE_POLICY):
            raise PermissionDenied(f"to activate needs the permission {CHANGE_POLICY}")
        keep = load_policy if asked["activate"] else add_version
        policy = keep(
            asked["text"], name=name, actor=request.user.get_username(), note=asked["note"]
        )
        policy.refresh_from_db()
        return Response(PolicyTextSerializer(policy).data, status=HTTPStatus.CREATED)


class PolicyVersion(GuardedView):
    """`GET /api/policies/{name}/versions/{version}`: with its text."""

    needs = {"GET": (VIEW_POLICY,)}

    @extend_schema(summary="Show a version of a policy set", responses=PolicyTextSerializer)
    def get(self, request: Request, name: str, version: int) -> Response:
        """Answer with one version."""
        return Response(PolicyTextSerializer(find_version(name, version)).data)


class PolicyActivate(GuardedView):
    """`POST /api/policies/{name}/versions/{version}/activate`: in force from the next statement of every run."""

    needs = {"POST": (CHANGE_POLICY,)}

    @extend_schema(
        summary="Put a version into force", request=None, responses=PolicyVersionSerializer
    )
    def post(self, request: Request, name: str, version: int) -> Response:
        """Put a stored version into force."""
        policy = find_version(name, version)
        activate_policy(policy, actor=request.user.get_username())
        return Response(PolicyVersionSerializer(policy).data)


class PolicyTry(GuardedView):
    """`POST /api/policies/try`: what the gates would say; nothing is sent, kept or audited."""

    needs = {"POST": (VIEW_POLICY,)}

    @extend_schema(
        summary="Try a call against the gates", request=TryInput, responses=TrialSerializer
    )
    def post(self, request: Request) -> Response:
        """Answer with the verdict and what it is made of."""
        given = TryInput(data=request.data)
        given.is_valid(raise_exception=True)
        asked = given.validated_data
        own = request.user.get_username()
        started_by = asked.get("started_by", own)
        if started_by not in {"", own} and not holds(request, VIEW_USER):
            raise PermissionDenied(f"another's rights can be tried with the permission {VIEW_USER}")
        trial = try_call(
            agent_key=asked["agent"],
            tool=asked["tool"],
            args=asked["args"],
            started_by=started_by,
            entry=asked["entry"],
            mission=asked["mission"],
            delegated_by=asked["delegated_by"],
            policy_text=asked.get("policy"),
        )
        return Response(TrialSerializer(trial).data)


def _newest() -> QuerySet[Policy]:
    """The newest version of each set, with the number of its version in force."""
    same = Policy.objects.filter(name=OuterRef("name"))
    active = same.filter(is_active=True).values("version")[:1]
    newer = same.filter(version__gt=OuterRef("version"))
    return (
        Policy.objects.defer("text")
        .annotate(active_version=Subquery(active))
        .filter(~Exists(newer))
    )


def _version_in(cursor: str) -> int:
    (text,) = read_cursor(cursor, parts=1)
    if not (text.isascii() and text.isdigit() and len(text) < 11 and int(text) <= HIGHEST_VERSION):
        raise bad_cursor()
    return int(text)
