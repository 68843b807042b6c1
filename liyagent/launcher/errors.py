"""What can keep PostgreSQL or the product from starting; each says what to do about it."""

from __future__ import annotations

from liyagent.core.errors import LiyagentError


class NoPostgres(LiyagentError):
    """No PostgreSQL 15 or newer was found."""

    code = "launcher.no_postgres"


class NoServerUser(LiyagentError):
    """PostgreSQL refuses to run as root, and there is no unprivileged user to run it as."""

    code = "launcher.no_server_user"


class Unreachable(LiyagentError):
    """The user that PostgreSQL runs as may not reach this directory."""

    code = "launcher.unreachable"


class OtherMajor(LiyagentError):
    """The data directory was made by another major version of PostgreSQL."""

    code = "launcher.other_major"


class AlreadyStarted(LiyagentError):
    """Another process is running this already."""

    code = "launcher.already_started"


class StartFailed(LiyagentError):
    """A process did not become ready."""

    code = "launcher.start_failed"


class PortTaken(LiyagentError):
    """Something else listens on this port."""

    code = "launcher.port_taken"
