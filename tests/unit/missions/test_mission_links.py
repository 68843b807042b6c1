"""The list of missions leads to each one's page, whatever its id looks like."""

from __future__ import annotations

import pytest
from django.contrib.admin.utils import quote
from django.contrib.auth.models import User
from django.test import Client

pytestmark = pytest.mark.usefixtures("fresh_db")


def test_a_link_of_the_list_leads_to_the_page_and_what_is_no_mission_to_none() -> None:
    client = Client()
    client.force_login(User.objects.create_superuser("root", password="not used here"))
    for mission in ("INC_77", "a:b.c-d"):
        answer = client.get(f"/admin/missions/mission/{quote(mission)}/change/")
        assert (answer.status_code, answer["location"]) == (302, f"/admin/mission/{mission}/")
    for name in ("a/b", "%0A", "_2F", "x" * 129):
        assert client.get(f"/admin/missions/mission/{name}/change/").status_code == 404
