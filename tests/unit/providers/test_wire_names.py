"""Tool names travel to a model and back."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from liyagent.providers.wire_names import names_by_wire, wire_name

part = st.text("ab_-./ é", min_size=1, max_size=8)
names = st.builds("{}/{}".format, part, part)


def test_an_ordinary_name_stays_readable() -> None:
    assert wire_name("jira/create_issue") == "jira__create_issue"
    assert wire_name("incident-io/get-1") == "incident-io__get-1"


@pytest.mark.parametrize(
    "name", ["jira/" + "x" * 80, "a.b/c", "a__b/c", "a_/b", "a/_b", "no-slash", "ä/ö", ""]
)
def test_any_other_name_carries_a_digest(name: str) -> None:
    assert re.fullmatch(r"[a-zA-Z0-9_-]{0,51}_[0-9a-f]{12}", wire_name(name))


@given(st.sets(names | st.text(max_size=100), max_size=20))
def test_every_name_fits_and_leads_back(given_names: set[str]) -> None:
    table = names_by_wire(given_names)
    assert set(table.values()) == given_names
    assert all(re.fullmatch("[a-zA-Z0-9_-]{1,64}", wire) for wire in table)


@given(names)
def test_a_name_is_the_same_whatever_stands_beside_it(name: str) -> None:
    assert wire_name(name) in names_by_wire([name, "a__b/c", "a/b__c"])


def test_no_tool_is_called_as_another_tool_is_on_the_wire() -> None:
    other = wire_name("jira/create.issue")
    twin = other.replace("__", "/", 1)
    assert wire_name(twin) != other
    assert len(names_by_wire(["jira/create.issue", twin])) == 2
