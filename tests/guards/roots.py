"""The guards of what is asked of roots and heads before they are believed."""

from __future__ import annotations

from tests.guards.guard import Guard

CHECK, TRUST, HEADS = "events/check_roots.py", "events/root_trust.py", "events/head_seals.py"
SEALS = "tests/unit/events/seals/"
CHANGES = (f"{SEALS}test_check_roots.py::test_each_change_is_found",)
ON_A_HEAD = (
    f"{SEALS}test_seal_heads.py::test_the_seal_on_a_head_shows_what_was_put_back_or_written_anew",
)
FORGED = f"{SEALS}test_forged_roots.py::"
ODD_ROWS = (
    f"{FORGED}test_no_row_in_the_table_of_roots_ends_a_verification_an_export_or_a_comparison"
)

ROOT_GUARDS: tuple[Guard, ...] = (
    Guard(
        name="roots: one that is not there is missed",
        file=CHECK,
        search="        for missing in range(self.number + 1, min(root.number, self.number + 10)):\n",
        replace="        for missing in range(0):\n",
        tests=CHANGES,
    ),
    Guard(
        name="roots: each names the one before it",
        file=CHECK,
        search='        if statement["previous"] != self.digest.hex():\n',
        replace="        if False:\n",
        tests=CHANGES,
    ),
    Guard(
        name="roots: each is of this database",
        file=CHECK,
        search='        if statement["database"] != str(database_id()):\n',
        replace="        if False:\n",
        tests=CHANGES,
    ),
    Guard(
        name="roots: columns are what was signed",
        file=CHECK,
        search="        if told != (root.number, root.epoch, at):\n",
        replace="        if False:\n",
        tests=CHANGES,
    ),
    Guard(
        name="roots: leaves are what was signed",
        file=CHECK,
        search='        if statement["batch"] != told or not is_whole:\n',
        replace="        if False:\n",
        tests=CHANGES,
    ),
    Guard(
        name="roots: the log has grown",
        file=CHECK,
        search='        if bytes(root.nodes) != b"".join(nodes):\n',
        replace="        if False:\n",
        tests=CHANGES,
    ),
    Guard(
        name="roots: each signature holds",
        file=CHECK,
        search='            return "bad_signature"\n',
        replace="            return None\n",
        tests=CHANGES,
    ),
    Guard(
        name="roots: what was sealed was not written anew",
        file=CHECK,
        search='            return "rewritten"\n',
        replace="            return None\n",
        tests=CHANGES,
    ),
    Guard(
        name="roots: no head tells of less than was sealed",
        file=CHECK,
        search='        return "put_back" if it.head is not None and it.head < it.sealed else None\n',
        replace="        return None\n",
        tests=CHANGES,
    ),
    Guard(
        name="roots: a statement has one form",
        file=TRUST,
        search="    return (told, signed) if is_same else None\n",
        replace="    return told, signed\n",
        tests=CHANGES,
    ),
    Guard(
        name="roots: nothing is built on a statement that nobody signed",
        file=TRUST,
        search='    if publics is None:\n        return "bad_signature"\n',
        replace='    publics = publics or [statement["public"]]\n',
        tests=(ODD_ROWS,),
    ),
    Guard(
        name="roots: nothing is built on columns that nobody signed",
        file=TRUST,
        search='    if (statement["number"], statement["epoch"]) != (it.number, it.epoch):\n',
        replace="    if False:\n",
        tests=(f"{FORGED}test_a_later_epoch_that_no_key_of_ours_signed_accepts_nothing",),
    ),
    Guard(
        name="heads: one with fewer events than were sealed was put back",
        file=HEADS,
        search="    if head.count < head.sealed_count:\n",
        replace="    if False:\n",
        tests=ON_A_HEAD,
    ),
    Guard(
        name="heads: a seal of nothing is none",
        file=HEADS,
        search='        return _found(1, "sealed_otherwise") if bytes(head.seal) else None\n',
        replace="        return None\n",
        tests=ON_A_HEAD,
    ),
    Guard(
        name="heads: what came after the first hour is not of before tags",
        file="events/first_roots.py",
        search="        if not number and not is_over:\n",
        replace="        if not number:\n",
        tests=(
            "tests/unit/events/attacks/test_found.py::test_a_run_that_is_said_to_be_of_before_tags_is_found",
        ),
    ),
    Guard(
        name="roots: a verification compares with what was exported",
        file="events/check_export.py",
        search="    if rolled is not None:\n",
        replace="    if False:\n",
        tests=(
            f"{SEALS}test_check_roots.py::test_what_was_exported_is_compared_and_nothing_contained",
        ),
    ),
)
