"""The guards of the record: what was changed is found, what is missing is told, and nothing that is stored stops a verification."""

from __future__ import annotations

from tests.guards.guard import Guard

VERDICT, COMPLETENESS = "events/verdict.py", "events/completeness.py"
JUDGED = "tests/unit/events/test_verdict.py::"
VERIFIED = "tests/unit/events/test_verify.py::"
FOLDED = "tests/unit/events/test_fold.py::"
TOLD = "tests/unit/events/test_evidence.py::"
ACCOUNTED = "tests/unit/test_accounted.py::"
TAKEN_OUT = f"{JUDGED}test_events_taken_out_are_found_though_all_is_hashed_anew"

RECORD: tuple[Guard, ...] = (
    Guard(
        name="record: an event without a tag is forged",
        file=VERDICT,
        search='            self._break(row.number, "untagged")',
        replace="            pass",
        tests=(f"{JUDGED}test_a_forged_event_is_found_wherever_it_is_put",),
    ),
    Guard(
        name="record: a tag is that of its event",
        file=VERDICT,
        search="        if not fits:",
        replace="        if fits is None:",
        tests=(f"{JUDGED}test_an_edited_event_is_found_though_all_is_hashed_anew[edit0-forged-3]",),
    ),
    Guard(
        name="record: a hole that no gap tells of is a break",
        file=VERDICT,
        search="            if owed > 0:",
        replace="            if False:",
        tests=(TAKEN_OUT, f"{JUDGED}test_a_hole_that_a_gap_tells_of_is_no_break"),
    ),
    Guard(
        name="record: an event stands once",
        file=VERDICT,
        search="        if attempt < last or ordinal < expected:",
        replace="        if attempt < last:",
        tests=(f"{JUDGED}test_an_event_put_in_twice_is_found_though_all_is_hashed_anew[3]",),
    ),
    Guard(
        name="record: who was taken over wrote nothing later",
        file=VERDICT,
        search="        if attempt < last or ordinal < expected:",
        replace="        if ordinal < expected:",
        tests=(f"{JUDGED}test_a_process_that_was_taken_over_cannot_have_written_later",),
    ),
    Guard(
        name="record: what is written beside attempts stands once",
        file=VERDICT,
        search="        if (row.run_id, ordinal) in self._beside:",
        replace="        if False:",
        tests=(f"{JUDGED}test_an_event_put_in_twice_is_found_though_all_is_hashed_anew[2]",),
    ),
    Guard(
        name="record: what is older than tags stands before all that has one",
        file=VERDICT,
        search="        return is_old and not self._has_tags",
        replace="        return is_old",
        tests=(f"{JUDGED}test_what_was_written_before_tags_stands_before_all_that_has_one",),
    ),
    Guard(
        name="record: a name that stands twice is none",
        file="events/content.py",
        search="    return found if len(found) == len(pairs) else {}",
        replace="    return found",
        tests=(f"{JUDGED}test_a_name_that_stands_twice_lends_no_leave",),
    ),
    Guard(
        name="record: the seal is asked",
        file=VERDICT,
        search="        elif self.seal is not None:",
        replace="        elif self.seal is not None and not self.seen:",
        tests=(f"{JUDGED}test_the_seal_is_asked_with_the_hash_of_the_event_that_it_closes_over",),
    ),
    Guard(
        name="record: an end that counts more than is told is incomplete",
        file=COMPLETENESS,
        search="            if told < counted:",
        replace="            if False:",
        tests=(
            f"{JUDGED}test_an_end_that_counts_more_than_is_told_is_incomplete[steps-3]",
            TAKEN_OUT,
        ),
    ),
    Guard(
        name="record: a call that was approved has its decision",
        file=COMPLETENESS,
        search="            if approval not in self.approved:",
        replace="            if False:",
        tests=(TAKEN_OUT,),
    ),
    Guard(
        name="record: each call of an answered run is told of",
        file=COMPLETENESS,
        search='        if run.ended.get("status") == ANSWERED and run.open:',
        replace="        if False:",
        tests=(f"{JUDGED}test_a_call_of_an_answered_run_that_is_told_nowhere_is_missed",),
    ),
    Guard(
        name="record: heads, rows and events are of one moment",
        file="events/reading.py",
        search='"SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY"',
        replace='"SELECT 1"',
        tests=(
            f"{VERIFIED}test_a_run_that_goes_on_meanwhile_is_not_taken_for_one_that_was_changed",
        ),
    ),
    Guard(
        name="record: a run without record and certificate is named",
        file="events/verify_chains.py",
        search="    for chain in sorted(gone - purged_among(gone).keys()):",
        replace="    for chain in ():",
        tests=(f"{VERIFIED}test_each_of_five_attacks_is_named_and_nothing_else",),
    ),
    Guard(
        name="record: what was purged is not judged",
        file="runs/evidence.py",
        search="        is_judged = is_first and is_short and purged_at is None",
        replace="        is_judged = is_first and is_short",
        tests=(f"{TOLD}test_a_record_that_was_purged_says_so_and_is_not_judged",),
    ),
    Guard(
        name="record: a page of events is bounded by its contents",
        file="runs/evidence.py",
        search="                if len(found) == limit or (found and size > PAGE_BYTES):",
        replace="                if len(found) == limit:",
        tests=(f"{TOLD}test_a_page_ends_before_its_contents_are_too_much",),
    ),
    Guard(
        name="record: no answer reads through more than so much",
        file="runs/evidence.py",
        search="        if size > MOST_JUDGED_SIZE:\n            return None\n",
        replace="",
        tests=(f"{TOLD}test_a_chain_that_holds_too_much_for_an_answer_is_judged_at_the_shell",),
    ),
    Guard(
        name="record: no page reads through more than so much",
        file="runs/record_told.py",
        search="        if size > evidence.MOST_JUDGED_SIZE:\n            return None\n",
        replace="",
        tests=(f"{TOLD}test_a_chain_that_holds_too_much_for_an_answer_is_judged_at_the_shell",),
    ),
    Guard(
        name="record: words are for those who may read them",
        file="runs/evidence.py",
        search='        "content": content if with_words else without_words(content),',
        replace='        "content": content,',
        tests=(f"{TOLD}test_words_are_told_to_those_alone_who_may_read_them",),
    ),
    Guard(
        name="record: a state is bounded",
        file="events/fold.py",
        search="        return self.left >= 0",
        replace="        return True",
        tests=(f"{FOLDED}test_the_state_of_a_long_chain_is_bounded",),
    ),
    Guard(
        name="record: what is no counter counts nothing",
        file="events/content.py",
        search="    return value if is_number and 0 <= value <= HIGHEST else 0",
        replace="    return value if is_number else 0",
        tests=(
            f"{FOLDED}test_what_is_no_counter_counts_nothing[-1]",
            f"{FOLDED}test_what_is_no_counter_counts_nothing[1208925819614629174706176]",
        ),
    ),
    Guard(
        name="record: a mark is what its event says",
        file="runs/evidence_compare.py",
        search="    if told != mark.fate:",
        replace="    if False:",
        tests=(f"{TOLD}test_events_that_could_not_be_written_make_it_incomplete_and_still_intact",),
    ),
    Guard(
        name="a check over all chains goes on behind the last that it read",
        file="events/by_chain.py",
        search="        first = UUID(int=last.int + 1)",
        replace="        first = last",
        tests=(
            "tests/unit/events/test_by_chain.py::test_those_that_are_not_asked_for_are_not_read",
        ),
    ),
    Guard(
        name="record: days of a certificate are added as far as a time can go",
        file="events/check_purges.py",
        search="greatest(least(p.kept_days, 1000000), 1)",
        replace="p.kept_days",
        tests=(
            "tests/unit/events/attacks/test_hostile_rows.py::test_a_certificate_that_somebody_wrote_is_told_of_and_ends_no_verification",
        ),
    ),
    Guard(
        name="record: a certificate of a time to come is one of now",
        file="events/check_purges.py",
        search="least(greatest(p.at, timestamptz '0001-01-01Z'), liyagent_now())",
        replace="greatest(p.at, timestamptz '0001-01-01Z')",
        tests=(
            "tests/unit/events/attacks/test_hostile_rows.py::test_a_certificate_that_somebody_wrote_is_told_of_and_ends_no_verification",
        ),
    ),
)
