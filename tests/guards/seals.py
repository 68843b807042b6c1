"""The guards of the record's seals: roots, packs, exports, and a database that was put back."""

from __future__ import annotations

from tests.guards.guard import Guard

SEAL, HEADS, ROOTS = "events/seal_heads.py", "events/head_seals.py", "events/roots.py"
VERIFY, CHECK = "events/verify_pack.py", "events/check_roots.py"
EXPORT, ROLLBACK = "events/export_roots.py", "events/rollback.py"
PUT = "events/put_seals.py"
INTERRUPTED = "tests/unit/events/seals/test_interrupted.py::"
FORGED = "tests/unit/events/seals/test_forged_roots.py::"
SEALING = "tests/unit/events/seals/test_seal_heads.py::"
PACKS = "tests/unit/events/seals/test_packs.py::"
MUTANTS = "tests/unit/events/seals/test_mutants.py::test_no_mutant_is_accepted_and_none_is_a_crash"
CHECKING = "tests/unit/events/seals/test_check_roots.py::"
EXPORTS = "tests/unit/events/seals/test_export_roots.py::"
SIGNATURES = "tests/unit/events/seals/test_signatures.py::"
SAID = "tests/unit/events/seals/test_edited_packs.py::test_whatever_was_done_to_a_pack_is_said_in_one_line"
HOSTILE = "tests/unit/events/attacks/test_hostile_rows.py::"
PUT_BACK = f"{EXPORTS}test_a_database_that_was_put_back_is_found_and_everything_contained"
STAYS = f"{EXPORTS}test_it_stays_contained_until_a_person_accepted_it_and_released_it"

SEAL_GUARDS: tuple[Guard, ...] = (
    Guard(
        name="what was written anew is not sealed a second time",
        file=SEAL,
        search="        if wrong is not None:\n",
        replace="        if False and wrong is not None:\n",
        tests=(f"{SEALING}test_what_was_written_anew_is_not_sealed_a_second_time",),
    ),
    Guard(
        name="a seal waits for no flush",
        file=PUT,
        search=" FOR UPDATE SKIP LOCKED)",
        replace=" FOR UPDATE)",
        tests=(f"{SEALING}test_a_flush_waits_for_no_seal_and_no_seal_for_a_flush",),
    ),
    Guard(
        name="no disk is waited for while heads are locked",
        file=PUT,
        search="set_config('synchronous_commit', 'off', true)",
        replace="set_config('synchronous_commit', 'on', true)",
        tests=(
            f"{SEALING}test_a_head_is_locked_for_no_longer_than_its_seal_is_written_and_no_disk_is_waited_for",
        ),
    ),
    Guard(
        name="a head that moved on stays unsealed",
        file=PUT,
        search="is_unsealed = h.count > v.count",
        replace="is_unsealed = false",
        tests=(f"{SEALING}test_a_head_that_moved_on_meanwhile_keeps_its_seal_and_is_sealed_again",),
    ),
    Guard(
        name="what a death left is sealed before the next root",
        file=SEAL,
        search="        held = finish(newest)\n",
        replace="        held: Held = {}\n",
        tests=(
            f"{SEALING}test_a_flush_waits_for_no_seal_and_no_seal_for_a_flush",
            f"{INTERRUPTED}test_wherever_a_sealer_dies_another_goes_on_without_a_hole",
        ),
    ),
    Guard(
        name="no root is left out as its clock was behind",
        file=CHECK,
        search="    begun = _begun(first) - CLOCKS_APART\n",
        replace="    begun = _begun(first) - SKEW\n",
        tests=(f"{CHECKING}test_what_a_chain_was_sealed_as_is_found_however_clocks_are_moved",),
    ),
    Guard(
        name="a lease of before the clock was put back is nobody's",
        file=SEAL,
        search=", seconds=LEASE_SECONDS, longest=LEASE_SECONDS)",
        replace=", seconds=LEASE_SECONDS)",
        tests=(f"{SEALING}test_a_clock_that_was_set_keeps_nothing_from_being_sealed",),
    ),
    Guard(
        name="a target that never answers holds up no start",
        file=EXPORT,
        search="    thread.join(START_SECONDS)\n",
        replace="    thread.join()\n",
        tests=(
            f"{EXPORTS}test_a_target_that_never_answers_holds_up_nothing_and_gets_all_in_order_later",
        ),
    ),
    Guard(
        name="a target that can be read and not written is not well",
        file=EXPORT,
        search="    data = target.read(NEWEST)\n",
        replace="    data = target.read(NEWEST)\n    _is_well()\n",
        tests=(f"{EXPORTS}test_what_the_target_cannot_take_is_told_once_and_noted_until_it_could",),
    ),
    Guard(
        name="what a target that is down misses is counted meanwhile",
        file=EXPORT,
        search="        _tell_of(error)\n        _count_behind()\n",
        replace="        _tell_of(error)\n",
        tests=(f"{EXPORTS}test_what_the_target_cannot_take_is_told_once_and_noted_until_it_could",),
    ),
    Guard(
        name="a chain that is kept from being sealed is found",
        file="events/check_heads.py",
        search="            if is_kept:\n",
        replace="            if False:\n",
        tests=(f"{CHECKING}test_a_chain_that_is_kept_from_being_sealed_is_found_and_not_exported",),
    ),
    Guard(
        name="no pack is made of a chain that is kept from being sealed",
        file="events/pack.py",
        search="        if not head.is_unsealed and head.count > head.sealed_count:\n",
        replace="        if False:\n",
        tests=(f"{CHECKING}test_a_chain_that_is_kept_from_being_sealed_is_found_and_not_exported",),
    ),
    Guard(
        name="no row brings an epoch back",
        file=ROOTS,
        search="    epoch = max(after.epoch, accepted.epoch or 0 if accepted is not None else 0)\n",
        replace="    epoch = accepted.epoch or 0 if accepted is not None else after.epoch\n",
        tests=(
            f"{FORGED}test_no_acceptance_that_somebody_put_into_the_table_makes_a_root_that_is_none",
        ),
    ),
    Guard(
        name="an epoch that is far off is signed by nobody",
        file=ROOTS,
        search="    near = Rollback.objects.filter(epoch__lte=epoch + MOST_EPOCHS_ON)\n",
        replace="    near = Rollback.objects.exclude(epoch=None)\n",
        tests=(
            f"{FORGED}test_no_acceptance_that_somebody_put_into_the_table_makes_a_root_that_is_none",
        ),
    ),
    Guard(
        name="an answer that never begins is not waited for",
        file="events/root_targets.py",
        search="            timeout_seconds=ANSWER_SECONDS, headers",
        replace="            timeout_seconds=30.0, headers",
        tests=(
            f"{EXPORTS}test_a_target_that_never_answers_holds_up_nothing_and_gets_all_in_order_later",
        ),
    ),
    Guard(
        name="a root names the heads that somebody holds",
        file=SEAL,
        search="    number = make_root(batch, after=newest, held=held)\n",
        replace="    number = make_root(batch, after=newest)\n",
        tests=(f"{SEALING}test_a_flush_waits_for_no_seal_and_no_seal_for_a_flush",),
    ),
    Guard(
        name="a held head is in no second root before it has the seal of the first",
        file=SEAL,
        search="[row for row in rows if row[0] not in held]",
        replace="[*rows]",
        tests=(f"{SEALING}test_a_flush_waits_for_no_seal_and_no_seal_for_a_flush",),
    ),
    Guard(
        name="nothing is built on a root that is none of ours",
        file=ROOTS,
        search="    if wrong is not None:\n",
        replace="    if False:\n",
        tests=(
            f"{FORGED}test_no_head_is_sealed_by_a_root_that_another_key_signed_and_that_is_told_loudly",
        ),
    ),
    Guard(
        name="sealing that has stopped is told",
        file=SEAL,
        search="        _note(is_stopped=True)\n",
        replace="        pass\n",
        tests=(
            f"{FORGED}test_no_head_is_sealed_by_a_root_that_another_key_signed_and_that_is_told_loudly",
        ),
    ),
    Guard(
        name="a key that signed alone is none of ours",
        file="events/root_trust.py",
        search='    return None if is_of_ours(publics, database=statement["database"]) else "unknown_key"\n',
        replace="    return None\n",
        tests=(
            f"{FORGED}test_no_head_is_sealed_by_a_root_that_another_key_signed_and_that_is_told_loudly",
            f"{FORGED}test_a_key_that_went_too_early_halts_until_it_is_put_back_or_named_as_retired",
        ),
    ),
    Guard(
        name="a key that has left the ring is known by the root that it signed with the next",
        file="events/root_trust.py",
        search="            asked += [it for it in _signed_with(public) if it not in asked]\n",
        replace="            pass\n",
        tests=(f"{FORGED}test_a_key_goes_once_a_root_is_signed_by_it_and_the_next",),
    ),
    Guard(
        name="keys that signed one root are known by each other",
        file="events/root_keys.py",
        search="                self._with.setdefault(public, set()).update(signed - {public})\n",
        replace="                self._with.setdefault(public, set())\n",
        tests=(f"{FORGED}test_a_key_goes_once_a_root_is_signed_by_it_and_the_next",),
    ),
    Guard(
        name="a root that follows vouches for none before it",
        file="events/root_keys.py",
        search="        yield from sorted({self._first[public] for public in left})\n",
        replace="        yield from ()\n",
        tests=(
            f"{FORGED}test_a_key_that_went_too_early_halts_until_it_is_put_back_or_named_as_retired",
        ),
    ),
    Guard(
        name="a head is sealed by what a root of ours closed over, and by nothing else",
        file=PUT,
        search="        wrong = wrong_leaves(number)\n",
        replace="        wrong = None\n",
        tests=(
            f"{FORGED}test_no_head_is_sealed_by_what_stands_in_the_row_of_a_root_and_was_not_closed_over",
        ),
    ),
    Guard(
        name="what is none of ours is not exported",
        file=EXPORT,
        search="        if wrong is not None:\n",
        replace="        if False:\n",
        tests=(
            f"{FORGED}test_no_head_is_sealed_by_a_root_that_another_key_signed_and_that_is_told_loudly",
        ),
    ),
    Guard(
        name="a forged epoch accepts nothing",
        file=ROLLBACK,
        search="        if wrong_with(stored) is None:\n",
        replace="        if True:\n",
        tests=(f"{FORGED}test_a_later_epoch_that_no_key_of_ours_signed_accepts_nothing",),
    ),
    Guard(
        name="no signature that is none keeps a database that was put back from being found",
        file=ROLLBACK,
        search="    return {public for _, signatures in told for public, _ in signatures}\n",
        replace='    return {public for _, text in rows for public, _ in __import__("json").loads(text)}\n',
        tests=(
            f"{FORGED}test_no_row_in_the_table_of_roots_ends_a_verification_an_export_or_a_comparison",
        ),
    ),
    Guard(
        name="a leaf that is no whole one, or has a number that no row has, is none",
        file="events/root_log.py",
        search='    return min(int.from_bytes(data, "big"), MOST_STORED)\n',
        replace='    return int.from_bytes(data, "big")\n',
        tests=(
            f"{FORGED}test_no_row_in_the_table_of_roots_ends_a_verification_an_export_or_a_comparison",
        ),
    ),
    Guard(
        name="what needs no tag is what the first roots closed over",
        file="events/reading.py",
        search="    return [it if not it.untagged else _believed(it, roots) for it in heads]\n",
        replace="    return heads\n",
        tests=(
            "tests/unit/events/attacks/test_found.py::test_a_run_that_is_said_to_be_of_before_tags_is_found",
        ),
    ),
    Guard(
        name="a pack believes no head that says that its events are of before tags",
        file="events/pack.py",
        search="        head.untagged = roots.untagged(chain, told=head.untagged, sealed_in=sealed_in)\n",
        replace="        pass\n",
        tests=(
            "tests/unit/events/attacks/test_found.py::test_a_run_that_is_said_to_be_of_before_tags_is_found",
        ),
    ),
    Guard(
        name="a root's number is given once",
        file=ROOTS,
        search="        return number if cursor.rowcount else None\n",
        replace="        return number\n",
        tests=(f"{SEALING}test_of_two_that_make_one_number_one_does",),
    ),
    Guard(
        name="the key before signs in the new one",
        file=ROOTS,
        search="    return [key, *(it for it in own_keys_among([before]) if it.public != key.public)]\n",
        replace="    return [key]\n",
        tests=(f"{SEALING}test_a_new_key_is_signed_in_by_the_one_before",),
    ),
    Guard(
        name="a seal holds for its root alone",
        file=HEADS,
        search='facts = (count.to_bytes(8, "big"), number.to_bytes(8, "big"), digest)',
        replace='facts = (count.to_bytes(8, "big"), digest)',
        tests=(f"{SEALING}test_the_seal_on_a_head_shows_what_was_put_back_or_written_anew",),
    ),
    Guard(
        name="a pack is what was signed",
        file=VERIFY,
        search='        if end["sha256"] != self.before:\n',
        replace="        if False:\n",
        tests=(SAID,),
    ),
    Guard(
        name="each signature of a pack and its roots is looked at",
        file=VERIFY,
        search="        for public, message, signature in self.signed:\n",
        replace="        for public, message, signature in self.signed[:0]:\n",
        tests=(SAID, MUTANTS),
    ),
    Guard(
        name="a root is signed by the keys that it names, and by all of them",
        file=VERIFY,
        search='        if publics != [statement["public"], *statement["also"]]:\n',
        replace='        if publics[:1] != [statement["public"]]:\n',
        tests=(MUTANTS,),
    ),
    Guard(
        name="a pack is written in one form alone",
        file=VERIFY,
        search="        if not is_same or type(value) is not dict:\n",
        replace="        if type(value) is not dict:\n",
        tests=(SAID,),
    ),
    Guard(
        name="the pinned key counts, and no other",
        file=VERIFY,
        search="        if self.pins.keys.isdisjoint(publics):\n",
        replace="        if False:\n",
        tests=(f"{PACKS}test_a_pack_of_another_key_or_database_is_refused",),
    ),
    Guard(
        name="a chain stands under the signed root",
        file=VERIFY,
        search='        if log is None or log.hex() != self.told.root["log"]:\n',
        replace="        if log is None:\n",
        tests=(SAID,),
    ),
    Guard(
        name="a signature has one form",
        file=VERIFY,
        search=" or scalar >= L:",
        replace=":",
        tests=(f"{SIGNATURES}test_a_signature_has_one_form_alone",),
    ),
    Guard(
        name="a chain that is gone with its head is missed",
        file=CHECK,
        search='        return "deleted" if it.head is None else "cut"\n',
        replace='        return None if it.head is None else "cut"\n',
        tests=(f"{CHECKING}test_each_change_is_found",),
    ),
    Guard(
        name="a purge before its time is found",
        file=CHECK,
        search='    return "purged_early" if _begun(it.chain) - SKEW > it.rested_since else None\n',
        replace="    return None\n",
        tests=(
            f"{CHECKING}test_a_purge_is_told_by_a_certificate_that_a_root_closes_over_and_no_other",
        ),
    ),
    Guard(
        name="a certificate that was sealed stays as it was",
        file=CHECK,
        search="            if here.pop(number, None) != digest:\n",
        replace="            if here.pop(number, None) is None and False:\n",
        tests=(
            f"{CHECKING}test_a_purge_is_told_by_a_certificate_that_a_root_closes_over_and_no_other",
        ),
    ),
    Guard(
        name="a database that was put back resumes nothing",
        file=ROLLBACK,
        search="            contain_all(actor=ACTOR, reason=reason[:LONGEST_REASON])\n",
        replace="            pass\n",
        tests=(PUT_BACK, STAYS),
    ),
    Guard(
        name="what was not accepted is not released",
        file="liyagent/agents/containment.py",
        search="        if (why := why_not()) is not None:\n",
        replace="        if (why := why_not()) is not None and False:\n",
        tests=(STAYS,),
    ),
    Guard(
        name="a stranger's root contains nothing",
        file=ROLLBACK,
        search='        raise NotOurs(f"{name} at the target is not ours: {refused}") from None\n',
        replace='        return Exported(statement=newest_root().statement | {"number": 1 << 40})\n',
        tests=(
            f"{EXPORTS}test_what_no_key_of_ours_signed_contains_nothing_and_is_not_written_over",
        ),
    ),
    Guard(
        name="a target that is down holds up nothing",
        file=EXPORT,
        search="    except (TargetDown, NotOurs) as error:\n        ROOT_EXPORTS_FAILED.inc()\n",
        replace="    except NotOurs as error:\n        ROOT_EXPORTS_FAILED.inc()\n",
        tests=(
            f"{EXPORTS}test_a_target_that_is_down_holds_up_nothing_and_gets_later_what_it_missed",
        ),
    ),
    Guard(
        name="nothing is exported over what another history left",
        file=EXPORT,
        search="    if rolled is not None or open_rollback() is not None:\n",
        replace="    if False:\n",
        tests=(PUT_BACK,),
    ),
    Guard(
        name="a seal's number below nothing is a seal that is forged",
        file=HEADS,
        search="    if head.sealed_count < 0 or (head.sealed_in or 0) < 0:",
        replace="    if False:",
        tests=(
            f"{HOSTILE}test_a_number_of_a_seal_below_nothing_keeps_no_other_chain_from_being_sealed_and_verified",
        ),
    ),
    Guard(
        name="a head whose last event is not there is not sealed",
        file=SEAL,
        search="        if wrong is None and (\n",
        replace="        if False and (\n",
        tests=(f"{HOSTILE}test_a_head_whose_last_event_is_not_there_is_sealed_with_no_other",),
    ),
    Guard(
        name="a time that no calendar has is none",
        file="events/reading.py",
        search="STORED_AT = \"CASE WHEN at BETWEEN '0001-01-02' AND '9999-12-30' THEN at ELSE 'epoch' END\"",
        replace='STORED_AT = "at"',
        tests=(f"{HOSTILE}test_a_time_that_no_calendar_has_breaks_no_page_and_no_verification",),
    ),
    Guard(
        name="content that is no JSON is read as it stands",
        file="events/timeline.py",
        search="    except (DataError, OperationalError):",
        replace="    except ZeroDivisionError:",
        tests=(f"{HOSTILE}test_content_that_is_none_of_ours_breaks_no_page_and_no_verification",),
    ),
    Guard(
        name="what is no root of that number at the target contains nothing",
        file=EXPORT,
        search="        if (found.epoch, found.number) != (root.epoch, root.number):",
        replace="        if False:",
        tests=(
            f"{EXPORTS}test_a_file_that_is_no_root_of_that_number_contains_nothing_and_is_not_written_over",
        ),
    ),
    Guard(
        name="an answer of the target has an end",
        file="events/root_targets.py",
        search="        if time.monotonic() > self._until:",
        replace="        if False:",
        tests=(f"{EXPORTS}test_a_target_whose_answer_never_ends_or_unpacks_to_more_is_down",),
    ),
    Guard(
        name="the name of a pack's file is no line",
        file=VERIFY,
        search="{ascii(path)[1:-1]}: {said}",
        replace="{path}: {said}",
        tests=(f"{PACKS}test_the_name_of_a_file_is_taken_for_no_line_and_ends_nothing",),
    ),
)
