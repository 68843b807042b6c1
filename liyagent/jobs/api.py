"""`/api/jobs`: what is worked on in the background, how far it is, and an end to it."""

from __future__ import annotations

from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from liyagent.access.permissions import OPERATE, VIEW_AGENT
from liyagent.access.views import GuardedView
from liyagent.core.bodies import once_each
from liyagent.core.paging import next_link
from liyagent.gateway.policies_api import PAGES
from liyagent.jobs.ask import find_job
from liyagent.jobs.end import cancel_job
from liyagent.jobs.listing import list_jobs
from liyagent.jobs.models import JobStatus
from liyagent.jobs.serializers import JobPage, JobSerializer

FILTERS = [
    OpenApiParameter("status", str, enum=JobStatus.values),
    OpenApiParameter("kind", str),
    OpenApiParameter("subject", str, description="What it is about, such as the key of a source."),
]


class JobList(GuardedView):
    """`GET /api/jobs`: newest first."""

    needs = {"GET": (VIEW_AGENT,)}

    @extend_schema(parameters=[*FILTERS, *PAGES], responses=JobPage)
    def get(self, request: Request) -> Response:
        """List the jobs."""
        asked = once_each(request.query_params)
        page = list_jobs(asked)
        return Response(
            {
                "jobs": JobSerializer(page.rows, many=True).data,
                "next": next_link(request.path, asked, page.next_cursor),
            }
        )


class JobOne(GuardedView):
    """`GET /api/jobs/{id}`."""

    needs = {"GET": (VIEW_AGENT,)}

    @extend_schema(responses=JobSerializer)
    def get(self, request: Request, job_id: str) -> Response:
        """Show a job."""
        return Response(JobSerializer(find_job(job_id)).data)


class JobCancel(GuardedView):
    """`POST /api/jobs/{id}/cancel`."""

    needs = {"POST": (OPERATE,)}

    @extend_schema(request=None, responses=JobSerializer)
    def post(self, request: Request, job_id: str) -> Response:
        """End a job: what its steps kept stays, the one in hand is not kept. 409 where it has ended."""
        return Response(JobSerializer(cancel_job(job_id, actor=request.user.get_username())).data)
