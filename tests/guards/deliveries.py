"""The guards of what is owed: dead letters are audited, sent again once, closed for good; what waits is kept."""

from __future__ import annotations

from tests.guards.guard import Guard

DELIVER, AGAIN, FORGET = (f"liyagent/entry/{it}.py" for it in ("deliver", "send_again", "forget"))
DELIVERIES = "tests/unit/entry/test_deliveries.py::"
BY_HAND = "tests/unit/entry/test_send_again.py::"
RESEALED = "tests/unit/entry/test_resealed.py::"

DELIVERY_GUARDS: tuple[Guard, ...] = (
    Guard(
        name="a dead letter is audited in the commit that makes it dead",
        file=DELIVER,
        search='            record_delivery(f"entry.delivery_{state}", delivery, actor=ACTOR, why=sent.error)\n',
        replace="            pass\n",
        tests=(
            f"{DELIVERIES}test_what_is_dead_is_audited_in_that_commit_or_not_dead",
            f"{DELIVERIES}test_it_is_given_up_after_a_day",
        ),
    ),
    Guard(
        name="an address that is dead holds back no other",
        file=DELIVER,
        search=" AND e.address -> 'config' IS NOT DISTINCT FROM d.address -> 'config'",
        replace="",
        tests=(f"{DELIVERIES}test_an_address_that_is_dead_holds_back_no_other_of_the_run",),
    ),
    Guard(
        name="what may have arrived is sent again with a confirmation alone",
        file=AGAIN,
        search=" and not may_appear_twice:",
        replace=" and False:",
        tests=(f"{BY_HAND}test_an_unconfirmed_one_goes_again_only_where_it_may_appear_twice",),
    ),
    Guard(
        name="of two that send a dead letter again one does",
        file=AGAIN,
        search="    WHERE id = %s AND state = %s\n",
        replace="    WHERE id = %s AND %s <> ''\n",
        tests=(f"{BY_HAND}test_of_two_at_once_one_sends_it_again",),
    ),
    Guard(
        name="a dead letter has a day anew",
        file=AGAIN,
        search=" give_up_at = it.now + interval '1 day',",
        replace="",
        tests=(f"{BY_HAND}test_a_dead_one_is_due_again_with_a_day_to_be_told_in",),
    ),
    Guard(
        name="what is not given up is not closed",
        file="liyagent/entry/close.py",
        search=" AND state IN ('dead', 'unconfirmed')",
        replace="",
        tests=(f"{BY_HAND}test_one_that_is_not_given_up_is_left_as_it_is",),
    ),
    Guard(
        name="what was handed on for a run that goes on is kept",
        file=FORGET,
        search="(o.ended_at IS NULL OR ",
        replace="(",
        tests=("tests/unit/entry/test_forget.py::test_what_belongs_to_a_run_that_waits_stays",),
    ),
    Guard(
        name="an answer is kept from the end of its run on",
        file=FORGET,
        search="OR o.ended_at >= (SELECT",
        replace="OR o.ended_at > 'infinity' AND o.ended_at >= (SELECT",
        tests=(
            "tests/unit/entry/test_forget.py::test_the_answer_of_a_run_that_told_before_its_end_is_kept_from_its_end_on",
        ),
    ),
    Guard(
        name="an odd row ends no round",
        file="runs/rounds.py",
        search="    except Exception:\n",
        replace="    except OSError:\n",
        tests=(
            "tests/unit/runs/test_rounds.py::test_a_look_that_meets_what_nobody_expected_does_not_end_its_round",
        ),
    ),
    Guard(
        name="an outage does not end who asks what is due",
        file="runs/rounds.py",
        search="        except (Error, psycopg.Error):\n",
        replace="        except OSError:\n",
        tests=("tests/unit/runs/test_rounds.py::test_only_what_has_something_to_do_looks",),
    ),
    Guard(
        name="only what has something to do is rung for",
        file="runs/rounds.py",
        search="strict=True) if is_due]",
        replace="strict=True) if is_due is not None]",
        tests=("tests/unit/runs/test_rounds.py::test_only_what_has_something_to_do_looks",),
    ),
    Guard(
        name="a card whose post was never answered is known once it is pressed",
        file="liyagent/entry/teams/invoke.py",
        search="    _note_card(activity, approval)\n",
        replace="",
        tests=(
            "tests/unit/entry/teams/test_buttons.py::test_a_card_whose_post_was_never_answered_is_brought_up_to_date_once_it_is_pressed",
        ),
    ),
    Guard(
        name="an odd delivery becomes a dead letter",
        file=DELIVER,
        search="    except Exception as error:\n        # An odd row",
        replace="    except OSError as error:\n        # An odd row",
        tests=(
            "tests/unit/entry/test_deliveries.py::test_one_that_cannot_be_read_holds_up_no_other_and_is_given_up_with_the_reason",
        ),
    ),
    Guard(
        name="what the ways in keep is sealed anew",
        file="liyagent/entry/rounds.py",
        search="SEALED_ROWS.append(SealedRows(model=Arrival, kind=ARRIVAL))\n",
        replace="",
        tests=(
            f"{RESEALED}test_no_model_with_sealed_words_is_forgotten",
            f"{RESEALED}test_all_of_it_opens_under_the_new_key_alone",
        ),
    ),
    Guard(
        name="a mark has nothing that the release before does not know",
        file="runs/marks.py",
        search="    if not payload.agent:\n        del told",
        replace="    if payload.agent:\n        del told",
        tests=(
            "tests/unit/runs/test_marks_of_two_releases.py::test_the_release_before_reads_what_this_one_marks",
        ),
    ),
)
