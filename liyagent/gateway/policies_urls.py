"""Addresses of policies and data policies, below /api/."""

from __future__ import annotations

from django.urls import path

from liyagent.gateway.data_policies_api import DataPolicies, DataPolicyOne
from liyagent.gateway.policies_api import (
    PolicyActivate,
    PolicySets,
    PolicyTry,
    PolicyVersion,
    PolicyVersions,
)

VERSIONS = "policies/<str:name>/versions"
urlpatterns = [
    path("policies", PolicySets.as_view(), name="policy-sets"),
    path("policies/try", PolicyTry.as_view(), name="policy-try"),
    path(VERSIONS, PolicyVersions.as_view(), name="policy-versions"),
    path(f"{VERSIONS}/<int:version>", PolicyVersion.as_view(), name="policy-version"),
    path(f"{VERSIONS}/<int:version>/activate", PolicyActivate.as_view(), name="policy-activate"),
    path("data-policies", DataPolicies.as_view(), name="data-policies"),
    path("data-policies/<str:name>", DataPolicyOne.as_view(), name="data-policy"),
]
