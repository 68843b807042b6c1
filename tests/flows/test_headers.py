"""What browsers are told about pages, cookies and https."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from django.contrib.auth.models import User
from django.test import Client

from liyagent.core.conf import new_seal_key
from liyagent.core.headers import content_policy
from tests.databases import FreshDatabase

ROOT = Path(__file__).resolve().parents[2]
INLINE = re.compile(
    r"<script(?![^>]*\bsrc=)(?![^>]*type=.application/json)|\son\w+=|javascript:",
    re.IGNORECASE,
)
SHOW = """
import django; django.setup()
from django.conf import settings as s
print(s.SESSION_COOKIE_SECURE, s.CSRF_COOKIE_SECURE, s.SECURE_HSTS_SECONDS > 0, s.SECURE_SSL_REDIRECT, s.SECURE_PROXY_SSL_HEADER)
"""


@pytest.mark.parametrize("path", ["/admin/login/", "/health/live", "/api/runs", "/nowhere", "/"])
def test_every_answer_says_what_a_page_may(fresh_db: FreshDatabase, path: str) -> None:
    headers = Client().get(path).headers
    assert "frame-ancestors 'none'" in headers["Content-Security-Policy"]
    assert "default-src" in headers["Content-Security-Policy"]
    assert headers["X-Frame-Options"] == "DENY"
    assert headers["X-Content-Type-Options"] == "nosniff"
    assert headers["Referrer-Policy"] == "same-origin"
    assert "camera=()" in headers["Permissions-Policy"]


def test_only_the_console_may_make_functions_of_text() -> None:
    relaxed = [path for path in ("/", "/api/runs", "/api/docs", "/health/live") if "unsafe-eval" in content_policy(path)]  # fmt: skip
    assert relaxed == []
    assert "'unsafe-eval'" in content_policy("/admin/runs/run/")
    for path in ("/", "/admin/", "/api/docs", "/api/runs"):
        policy = dict(it.split(" ", 1) for it in content_policy(path).split("; "))
        assert "'unsafe-inline'" not in policy.get("script-src", policy["default-src"])


def test_no_page_of_the_console_has_a_script_in_it(fresh_db: FreshDatabase) -> None:
    """Else it would not run: scripts are files."""
    client = Client()
    client.force_login(User.objects.create_superuser("root"))
    for path in ("", "agents/agent/", "agents/agent/add/", "runs/run/", "gateway/toolserver/add/", "auth/user/add/", "access/apikey/"):  # fmt: skip
        response = client.get(f"/admin/{path}")
        assert response.status_code == 200, path
        assert INLINE.findall(response.content.decode()) == [], path


def test_the_sessions_cookie_is_for_the_server_alone(fresh_db: FreshDatabase) -> None:
    User.objects.create_superuser("root", password="right")
    client = Client()
    client.post("/admin/login/", {"username": "root", "password": "right"})
    for name in ("sessionid", "csrftoken"):
        cookie = client.cookies[name]
        assert cookie["httponly"], name
        assert cookie["secure"], name
        assert cookie["samesite"] == "Lax", name
    assert int(client.cookies["sessionid"]["max-age"]) == 12 * 3600


@pytest.mark.parametrize(
    ("set_to", "shown"),
    [
        ({}, "True True True False None"),
        ({"LIYAGENT_PROXIES": "1"}, "True True True True ('HTTP_X_FORWARDED_PROTO', 'https')"),
        ({"LIYAGENT_HTTPS": "false"}, "False False False False None"),
        ({"LIYAGENT_DEBUG": "true"}, "False False False False None"),
    ],
)
def test_https_is_kept_to_where_it_is_said(set_to: dict[str, str], shown: str) -> None:
    kept = {name: it for name, it in os.environ.items() if not name.startswith("LIYAGENT_")}
    env = {
        **kept,
        "DJANGO_SETTINGS_MODULE": "liyagent.settings",
        "LIYAGENT_STATE_DIR": os.environ["LIYAGENT_STATE_DIR"],
        "LIYAGENT_SECRET_KEY": "x" * 50,
        "LIYAGENT_SEAL_KEYS": new_seal_key(),
        **set_to,
    }
    told = subprocess.check_output([sys.executable, "-c", SHOW], cwd=ROOT, env=env, text=True)
    assert told.strip() == shown
