"""Pickles that name a class are refused; what Django keeps for itself goes on (ruling 33).

Each test has a process of its own: the hook cannot be taken back.
"""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from tests.databases import FreshDatabase

CRAFTED = """
import os, pickle, uuid, datetime, django
class Crafted:
    def __reduce__(self):
        return (os.putenv, ("REACHED", "1"))
crafted = pickle.dumps(Crafted())
django.setup()
from liyagent.core.unpickling import UnpicklingRefused, refuse_unpickling
def shown(call, *values):
    try:
        return call(*values)
    except UnpicklingRefused as error:
        return f"refused: {error}"
"""


def run(script: str) -> list[str]:
    """Run `script` after CRAFTED in a process of its own; return its lines."""
    done = subprocess.run(
        [sys.executable, "-c", CRAFTED + script],
        env={**os.environ, "DJANGO_SETTINGS_MODULE": "liyagent.settings"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_a_pickle_that_names_a_class_is_refused_with_the_name_of_both() -> None:
    lines = run("""
print(shown(pickle.loads, crafted))
refuse_unpickling()
print(shown(pickle.loads, crafted))
print(shown(pickle.loads, pickle.dumps(uuid.UUID(int=1))))
print(shown(pickle.loads, pickle.dumps({"plain": [1, None]})))
""")
    assert lines[0] == "None", "without the hook it runs"
    assert lines[1].startswith("refused:")
    assert "name=posix.putenv, caller=__main__" in lines[1]
    assert "name=uuid.UUID" in lines[2]
    assert lines[3] == "{'plain': [1, None]}"


def test_the_queue_reads_ids_and_times_and_not_even_a_signed_class() -> None:
    lines = run("""
refuse_unpickling()
from django.core import signing
from django_q.conf import Conf
from django_q.signing import PickleSerializer, SignedPackage
job = {"args": (uuid.UUID(int=1),), "started": datetime.datetime.now(datetime.timezone.utc)}
print(SignedPackage.loads(SignedPackage.dumps(job)) == job)
signed = signing.dumps(Crafted(), key=Conf.SECRET_KEY, salt=Conf.PREFIX, serializer=PickleSerializer)
print(shown(SignedPackage.loads, signed))
""")
    assert lines[0] == "True"
    assert "name=posix.putenv, caller=django_q.signing" in lines[1]


def test_the_cache_in_memory_and_sessions_go_on() -> None:
    lines = run("""
refuse_unpickling()
from django.conf import settings
from django.contrib.sessions.backends.db import SessionStore
from django.core.cache import cache
cache.set("at", datetime.timedelta(seconds=3))
print(settings.CACHES["default"]["BACKEND"], cache.get("at"))
store = SessionStore()
print(store.decode(store.encode({"user": 7})))
""")
    assert lines == ["django.core.cache.backends.locmem.LocMemCache 0:00:03", "{'user': 7}"]


@pytest.mark.parametrize("command", ["serve", "cluster"])
def test_the_processes_of_the_product_refuse_from_their_first_step(
    command: str, fresh_db: FreshDatabase
) -> None:
    lines = run(f"""
import socket
from django.core.management import CommandError, call_command
from liyagent.core.errors import BadSetting
from django.db import connections
connections["default"].settings_dict["OPTIONS"]["pool"] = True
options = {{"serve": {{"port": 70000}}, "cluster": {{}}}}["{command}"]
try:
    call_command("{command}", **options)
except (CommandError, BadSetting) as error:
    print(error)
print(shown(pickle.loads, crafted))
""")
    assert "70000" in lines[0] or "connection pool" in lines[0]
    assert lines[1].startswith("refused:")
