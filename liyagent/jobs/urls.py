"""Addresses of jobs and sources, below /api/."""

from __future__ import annotations

from django.urls import include, path

from liyagent.jobs.api import JobCancel, JobList, JobOne

urlpatterns = [
    path("jobs", JobList.as_view(), name="jobs"),
    path("jobs/<str:job_id>", JobOne.as_view(), name="job"),
    path("jobs/<str:job_id>/cancel", JobCancel.as_view(), name="job-cancel"),
    path("", include("liyagent.jobs.sources.urls")),
]
