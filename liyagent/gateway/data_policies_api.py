"""`/api/data-policies`: what may not leave in a call's arguments."""

from __future__ import annotations

from http import HTTPStatus

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from liyagent.access.views import GuardedView
from liyagent.core.bodies import once_each
from liyagent.core.paging import PAGING, check_names, next_link, page_by
from liyagent.gateway.data_policies import find_data_policy, remove_data_policy, save_data_policy
from liyagent.gateway.models import DataPolicy
from liyagent.gateway.policies_api import PAGES
from liyagent.gateway.policies_serializers import (
    DataPolicyInput,
    DataPolicyPage,
    DataPolicySerializer,
)

VIEW = "gateway.view_datapolicy"
ADD = "gateway.add_datapolicy"
CHANGE = "gateway.change_datapolicy"
DELETE = "gateway.delete_datapolicy"


class DataPolicies(GuardedView):
    """`GET /api/data-policies`: by name."""

    needs = {"GET": (VIEW,)}

    @extend_schema(summary="List the data policies", parameters=PAGES, responses=DataPolicyPage)
    def get(self, request: Request) -> Response:
        """Answer with a page of them."""
        asked = once_each(request.query_params)
        check_names(asked, PAGING)
        page = page_by(DataPolicy.objects.all(), asked, field="name")
        return Response(
            {
                "data_policies": DataPolicySerializer(page.rows, many=True).data,
                "next": next_link(request.path, asked, page.next_cursor),
            }
        )


class DataPolicyOne(GuardedView):
    """`GET`, `PUT` and `DELETE /api/data-policies/{name}`."""

    needs = {"GET": (VIEW,), "PUT": (ADD, CHANGE), "DELETE": (DELETE,)}

    @extend_schema(summary="Show a data policy", responses=DataPolicySerializer)
    def get(self, request: Request, name: str) -> Response:
        """Answer with one."""
        return Response(DataPolicySerializer(find_data_policy(name)).data)

    @extend_schema(
        summary="Save a data policy",
        request=DataPolicyInput,
        responses={
            HTTPStatus.OK: DataPolicySerializer,
            HTTPStatus.CREATED: DataPolicySerializer,
        },
    )
    def put(self, request: Request, name: str) -> Response:
        """Save it as a whole: in force from the next statement of every run."""
        given = DataPolicyInput(data=request.data)
        given.is_valid(raise_exception=True)
        policy, is_new = save_data_policy(
            name, given.validated_data, actor=request.user.get_username()
        )
        status = HTTPStatus.CREATED if is_new else HTTPStatus.OK
        return Response(DataPolicySerializer(policy).data, status=status)

    @extend_schema(summary="Remove a data policy", responses={HTTPStatus.NO_CONTENT: None})
    def delete(self, request: Request, name: str) -> Response:
        """Remove it."""
        remove_data_policy(name, actor=request.user.get_username())
        return Response(status=HTTPStatus.NO_CONTENT)
