"""A configuration version never comes twice: what processes keep by it is never another configuration's (rulings 5, 40)."""

from __future__ import annotations

from django.db import connection

from liyagent.agents.containment import contain_all, release_all
from liyagent.agents.models import Agent, ConfigVersion
from tests.databases import FreshDatabase


def version() -> int:
    return ConfigVersion.objects.get().version


def lose_the_last_change(before: int) -> None:
    """As a standby that was promoted without it."""
    with connection.cursor() as cursor:
        cursor.execute("UPDATE agents_configversion SET version = %s", [before])


def test_a_version_that_was_lost_is_not_given_again(fresh_db: FreshDatabase) -> None:
    agent = Agent.objects.create(key="a", name="A", provider="scripted", model="m")
    before = version()
    Agent.objects.filter(id=agent.id).update(is_contained=True)
    lost = version()
    lose_the_last_change(before)
    Agent.objects.filter(id=agent.id).update(name="Another")
    assert lost < version()


def test_containing_and_releasing_everything_never_repeats_a_version_either(
    fresh_db: FreshDatabase,
) -> None:
    seen = [version()]
    contain_all(actor="olga", reason="r")
    seen.append(version())
    lose_the_last_change(seen[0])
    release_all(actor="olga")
    seen.append(version())
    assert seen == sorted(set(seen))


def test_two_changes_in_one_moment_have_two_versions(fresh_db: FreshDatabase) -> None:
    agent = Agent.objects.create(key="a", name="A", provider="scripted", model="m")
    seen = []
    for name in "bcdefgh":
        Agent.objects.filter(id=agent.id).update(name=name)
        seen.append(version())
    assert seen == sorted(set(seen))
