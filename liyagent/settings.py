"""Django's settings. What an operator may set is read in `core/conf.py` and stands here as `LIYAGENT`."""

from __future__ import annotations

from pathlib import Path

import django_stubs_ext

from liyagent.console import theme
from liyagent.core.conf import read_conf
from liyagent.core.database import django_database
from liyagent.core.logs import logging_config
from liyagent.gateway.commands import load_commands
from liyagent.providers.prices import read_prices

django_stubs_ext.monkeypatch()

BASE_DIR = Path(__file__).resolve().parent.parent
LIYAGENT = read_conf(base_dir=BASE_DIR)
read_prices(LIYAGENT.prices_file)  # a file that cannot be used ends the start
load_commands(LIYAGENT.commands_file)  # the same

DEBUG = LIYAGENT.debug
SECRET_KEY = LIYAGENT.secret_key
ALLOWED_HOSTS = list(LIYAGENT.allowed_hosts)

INSTALLED_APPS = [
    "unfold",
    "django.contrib.admin",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "rest_framework",
    "django_q",
    "liyagent.access",
    "missions",
    "liyagent.audit",
    "liyagent.leases",
    "liyagent.agents",
    "events",
    "liyagent.gateway",
    "liyagent.transcripts",
    "liyagent.approvals",
    "liyagent.jobs",
    "liyagent.jobs.sources",
    "liyagent.tickets",
    "handoffs",
    "sagas",
    "runs",
    "liyagent.workflows",
    "liyagent.training.classifiers",
    "liyagent.training.fine_tunes",
    "liyagent.training.red_teams",
    "liyagent.replays",
    "routines",
    "liyagent.entry",
    "liyagent.entry.a2a",
    "liyagent.entry.copilot",
    "liyagent.entry.cron",
    "liyagent.entry.teams",
    "liyagent.entry.webhooks",
    "liyagent.demo",
    "liyagent.console",
    "liyagent.operation",
]
MIDDLEWARE = [
    "missions.middleware.MissionMiddleware",
    "liyagent.core.queries.StorableQueryMiddleware",
    "django.middleware.security.SecurityMiddleware",
    "liyagent.core.headers.SecurityHeadersMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "liyagent.access.login.LoginAttemptsMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
]
ROOT_URLCONF = "liyagent.urls"
ASGI_APPLICATION = "liyagent.asgi.application"
TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
            ]
        },
    }
]

DATABASES = {"default": django_database(LIYAGENT.database_url)}
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": "django.contrib.auth.password_validation.MinimumLengthValidator"},
    {"NAME": "django.contrib.auth.password_validation.CommonPasswordValidator"},
]
LOGIN_URL = "admin:login"
LOGIN_REDIRECT_URL = "admin:index"
LOGIN_REDIRECT_URL = "admin:index"

LANGUAGE_CODE = "en-us"
TIME_ZONE = "UTC"
USE_TZ = True
FORMAT_MODULE_PATH = "liyagent.console.formats"
STATIC_URL = "static/"
UNFOLD = theme.UNFOLD
WHITENOISE_USE_FINDERS = True

LOGGING = logging_config(LIYAGENT.log_level)
# It tells of every job that is queued and done, one each tick.
LOGGING["loggers"]["django-q"]["level"] = "WARNING"

SESSION_COOKIE_AGE = 12 * 3600
SESSION_COOKIE_HTTPONLY = CSRF_COOKIE_HTTPONLY = True
SESSION_COOKIE_SAMESITE = CSRF_COOKIE_SAMESITE = "Lax"
SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = LIYAGENT.https
CSRF_TRUSTED_ORIGINS = list(LIYAGENT.allowed_origins)
SECURE_CONTENT_TYPE_NOSNIFF = True
SECURE_REFERRER_POLICY = "same-origin"
X_FRAME_OPTIONS = "DENY"
SECURE_HSTS_SECONDS = 365 * 86_400 if LIYAGENT.https else 0
# Without a proxy that says how the client came, all would look like http and be sent round for ever.
SECURE_SSL_REDIRECT = LIYAGENT.https and LIYAGENT.proxies > 0
SECURE_REDIRECT_EXEMPT = [r"^health/", r"^metrics$"]
SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https") if LIYAGENT.proxies > 0 else None
# Whether the neighbours of our host name use https, or browsers should have it built in, is their owner's choice.
SILENCED_SYSTEM_CHECKS = ["security.W005", "security.W021"]
DATA_UPLOAD_MAX_MEMORY_SIZE = 2 << 20

REST_FRAMEWORK = {
    "DEFAULT_RENDERER_CLASSES": ["rest_framework.renderers.JSONRenderer"],
    "DEFAULT_PARSER_CLASSES": ["liyagent.core.bodies.StrictJSONParser"],
    "DEFAULT_CONTENT_NEGOTIATION_CLASS": "liyagent.core.bodies.AlwaysJson",
    "DEFAULT_AUTHENTICATION_CLASSES": [
        "liyagent.access.authentication.ApiKeyAuthentication",
        "rest_framework.authentication.SessionAuthentication",
    ],
    "DEFAULT_PERMISSION_CLASSES": ["liyagent.access.permissions.HoldsPermissions"],
    "DEFAULT_METADATA_CLASS": None,
    "EXCEPTION_HANDLER": "liyagent.core.api.handle_exception",
    "URL_FORMAT_OVERRIDE": None,
    "DEFAULT_SCHEMA_CLASS": "liyagent.access.openapi.GuardedSchema",
}
SPECTACULAR_SETTINGS = {
    "TITLE": "Liyagent",
    "DESCRIPTION": "Durable AI agents for IT operations. Errors are application/problem+json.",
    "VERSION": "1",
    "SCHEMA_PATH_PREFIX": "/api/",
    "COMPONENT_SPLIT_REQUEST": True,
    # What is required of a change is told as required.
    "COMPONENT_SPLIT_PATCH": False,
    "ENUM_NAME_OVERRIDES": {
        "RunStatusEnum": "runs.models.RunStatus",
        "ApprovalStatusEnum": "liyagent.approvals.models.ApprovalStatus",
        "JobStatusEnum": "liyagent.jobs.models.JobStatus",
        "TicketStateEnum": "liyagent.tickets.models.TicketState",
        "DoubtStateEnum": "runs.doubts_serializers.SHOWN_STATES",
        "KindEnum": "liyagent.gateway.models.DataKind",
        "FindingVerdictEnum": "liyagent.training.red_teams.models.Verdict",
        "ReplayStatusEnum": "liyagent.replays.models.ReplayStatus",
        "ReplayVerdictEnum": "liyagent.replays.models.Verdict",
        "RoutineStateEnum": "routines.models.RoutineState",
        "SourceKindEnum": "liyagent.jobs.sources.models.SourceKind",
    },
    "POSTPROCESSING_HOOKS": [
        "drf_spectacular.hooks.postprocess_schema_enums",
        "liyagent.access.openapi.document_errors",
    ],
}
Q_CLUSTER = {
    "name": "liyagent",
    "orm": "default",
    "workers": 2,
    "timeout": 60,
    "retry": 120,
    "poll": 1,
    "guard_cycle": 2,
    "scheduler": False,
    "ack_failures": True,
    "max_attempts": 3,
    "catch_up": False,
    "save_limit": -1,
    "log_level": "WARNING",
}
