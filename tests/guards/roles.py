"""The guards of purging, and of the split between who serves and who owns the tables."""

from __future__ import annotations

from tests.guards.guard import Guard

RULES, DEFINER = "events/migrations/0004_what_rested_long_is_purged.py", "liyagent/core/definer.py"
STATE = "events/migrations/0010_only_what_was_sealed_whole_is_purged.py"
RIGHTS, SPLIT = "liyagent/operation/roles.sql", "liyagent/operation/database_roles.py"
PURGE = "tests/unit/events/test_purge.py::"
ATTACKS = "tests/unit/events/attacks/"
REFUSED, SPLITS = f"{ATTACKS}test_refused.py::", f"{ATTACKS}test_split.py::"
FOUND = f"{ATTACKS}test_found.py::"

ROLE_GUARDS: tuple[Guard, ...] = (
    Guard(
        name="an event goes only where a certificate tells of its chain",
        file=RULES,
        search="        AND EXISTS (SELECT 1 FROM events_purgecertificate p WHERE p.correlation_id = OLD.correlation_id)\n",
        replace="",
        tests=(f"{PURGE}test_nothing_is_deleted_without_a_certificate",),
    ),
    Guard(
        name="the trigger knows a purge by the role that is at it",
        file=RULES,
        search="        AND (SELECT pg_get_userbyid(c.relowner) FROM pg_class c WHERE c.oid = TG_RELID) = current_user\n",
        replace="",
        tests=(
            f"{PURGE}test_a_right_to_delete_is_not_enough_the_trigger_knows_the_owner_by_its_role",
        ),
    ),
    Guard(
        name="no certificate says that less was waited than the database keeps",
        file=RULES,
        search="    NEW.kept_days := greatest(NEW.kept_days, v_days);\n",
        replace="",
        tests=(f"{PURGE}test_a_certificate_tells_what_is_so_whatever_it_was_asked_to_tell",),
    ),
    Guard(
        name="no parameter makes a purge too early",
        file=RULES,
        search="    SELECT greatest(r.days, p_days) INTO v_days",
        replace="    SELECT coalesce(p_days, 0) INTO v_days",
        tests=(f"{PURGE}test_no_parameter_makes_it_purge_too_early",),
    ),
    Guard(
        name="a chain stays as long as a run of it goes on",
        file=STATE,
        search="            AND (r.ended_at IS NULL OR r.ended_at >= p_before)) THEN",
        replace="            AND false) THEN",
        tests=(f"{PURGE}test_a_chain_stays_as_long_as_a_run_of_it_goes_on_or_ended_lately",),
    ),
    Guard(
        name="a purge takes no evidence of tampering away",
        file=STATE,
        search="CASE WHEN v_rows <> count OR v_rows > 0 AND v_last <> hash THEN 'odd'",
        replace="CASE WHEN false THEN 'odd'",
        tests=(f"{PURGE}test_what_does_not_fit_its_head_is_kept_as_evidence_and_told",),
    ),
    Guard(
        name="what no root holds is not purged",
        file=STATE,
        search="        WHEN v_unsealed OR v_sealed < count THEN 'unsealed' ELSE 'due' END;",
        replace="        ELSE 'due' END;",
        tests=(f"{PURGE}test_what_no_root_holds_yet_waits_for_one",),
    ),
    Guard(
        name="a head that says of itself that it is sealed is not purged for that",
        file=STATE,
        search="WHEN v_unsealed OR v_sealed < count THEN",
        replace="WHEN v_unsealed THEN",
        tests=(f"{PURGE}test_what_no_root_holds_yet_waits_for_one",),
    ),
    Guard(
        name="what was purged and written anew ends no purge of others",
        file=STATE,
        search=" OR EXISTS (SELECT 1 FROM events_purgecertificate p WHERE p.correlation_id = p_correlation) THEN",
        replace=" THEN",
        tests=(
            f"{PURGE}test_a_purged_chain_whose_head_was_written_anew_keeps_no_other_from_being_purged",
        ),
    ),
    Guard(
        name="nothing is purged while clocks differ",
        file="events/purge.py",
        search="    if abs(there - here) > CLOCKS_APART:\n",
        replace="    if False:\n",
        tests=(f"{PURGE}test_nothing_is_purged_while_clocks_differ",),
    ),
    Guard(
        name="one purge at a time",
        file=RULES,
        search="    IF NOT pg_try_advisory_xact_lock(7246172803118) THEN RETURN; END IF;\n",
        replace="",
        tests=(f"{PURGE}test_another_purge_at_the_same_time_does_nothing",),
    ),
    Guard(
        name="a change of how long events are kept is audited",
        file=RULES,
        search="    PERFORM liyagent_audit('events.retention',",
        replace="    PERFORM concat('events.retention',",
        tests=(f"{PURGE}test_the_setting_says_how_long_and_a_change_of_it_is_audited",),
    ),
    Guard(
        name="an ended purge is not made again within a day, nor by two processes",
        file="runs/purging.py",
        search="    if take_lease(LEASE, holder=turn, seconds=PART_SECONDS) is None:\n        return 0\n",
        replace="    take_lease(LEASE, holder=turn, seconds=PART_SECONDS)\n",
        tests=(
            "tests/unit/runs/test_purging.py::test_a_process_purges_what_is_due_once_a_day_and_no_other_beside_it",
        ),
    ),
    Guard(
        name="what writes as its owner looks in its own schema alone",
        file=DEFINER,
        search="SECURITY DEFINER SET search_path = %I, pg_temp', v, current_schema());",
        replace="SECURITY DEFINER', v);",
        tests=(f"{REFUSED}test_what_a_session_makes_for_itself_is_not_taken_for_ours",),
    ),
    Guard(
        name="what writes as its owner is not called by strangers",
        file=DEFINER,
        search="        EXECUTE format('REVOKE EXECUTE ON FUNCTION %s FROM PUBLIC', v);\n",
        replace="",
        tests=(
            f"{PURGE}test_a_right_to_delete_is_not_enough_the_trigger_knows_the_owner_by_its_role",
        ),
    ),
    Guard(
        name="who could write by hand may call what writes now",
        file=DEFINER,
        search="            EXECUTE format('GRANT EXECUTE ON FUNCTION %s TO %I', v, v_role);\n",
        replace="            NULL;\n",
        tests=(
            f"{SPLITS}test_who_could_write_a_table_by_hand_may_call_the_function_that_now_does",
        ),
    ),
    Guard(
        name="a new table that refuses changes gives no right to change it",
        file="liyagent/core/appendonly.py",
        search="                LOOP EXECUTE format('REVOKE UPDATE, DELETE, TRUNCATE ON {table} FROM %I', v); END LOOP;\n",
        replace="                LOOP NULL; END LOOP;\n",
        tests=(f"{SPLITS}test_what_a_later_migration_makes_can_be_used_at_once_and_no_more",),
    ),
    Guard(
        name="who serves writes no record by hand",
        file=RIGHTS,
        search="            WHEN v.name = ANY ({read}) THEN 'SELECT'\n",
        replace="",
        tests=(f"{REFUSED}test_who_serves_may_change_nothing_of_the_record",),
    ),
    Guard(
        name="who serves puts no head back",
        file=RIGHTS,
        search=" UPDATE (is_unsealed, sealed_count,",
        replace=" UPDATE (count, hash, is_unsealed, sealed_count,",
        tests=(f"{REFUSED}test_who_serves_may_change_nothing_of_the_record",),
    ),
    Guard(
        name="who serves deletes no run",
        file=RIGHTS,
        search="            WHEN v.name = ANY ({kept}) THEN 'SELECT, INSERT, UPDATE'\n",
        replace="",
        tests=(f"{REFUSED}test_who_serves_may_change_nothing_of_the_record",),
    ),
    Guard(
        name="what was given too much is taken away",
        file=RIGHTS,
        search="        EXECUTE format('REVOKE ALL ON %I.%I FROM PUBLIC, %I', v_schema, v.name, v_role);\n",
        replace="",
        tests=(f"{SPLITS}test_the_command_takes_away_what_was_given_too_much",),
    ),
    Guard(
        name="who owns the tables is not let serve",
        file=RIGHTS,
        search="    IF pg_has_role(v_role, v_owner, 'MEMBER') THEN",
        replace="    IF false THEN",
        tests=(f"{SPLITS}test_whoever_owns_the_tables_cannot_be_the_one_that_serves",),
    ),
    Guard(
        name="a role's name ends no statement",
        file=SPLIT,
        search=' or "$" in role:',
        replace=":",
        tests=(f"{SPLITS}test_what_is_no_name_of_a_role_is_refused",),
    ),
    Guard(
        name="rights are given anew behind each migration",
        file="liyagent/operation/management/commands/migrate.py",
        search="                    split_roles(role, actor=operator_name())\n",
        replace="                    pass\n",
        tests=(f"{SPLITS}test_migrate_goes_as_the_owner_and_gives_the_rights_anew",),
    ),
    Guard(
        name="a pack is signed only where all that it tells was written with a key of ours",
        file="events/pack.py",
        search="    if (broken := judge.verdict().broken) is not None:",
        replace="    if False and (broken := judge.verdict().broken) is not None:",
        tests=(
            f"{FOUND}test_what_can_be_forged_with_the_rights_of_who_serves_is_found",
            f"{FOUND}test_a_run_that_never_was_is_found",
        ),
    ),
    Guard(
        name="what is left of a purged chain is found",
        file="events/check_purges.py",
        search='("not_whole", is_left)',
        replace='("not_whole", False)',
        tests=(f"{PURGE}test_what_is_left_or_written_anew_of_a_purged_chain_is_found",),
    ),
    Guard(
        name="a purge before its time is found by its certificate",
        file="events/check_purges.py",
        search='("purged_early", is_early)',
        replace='("purged_early", False)',
        tests=(f"{PURGE}test_a_certificate_of_a_purge_that_was_too_early_is_found",),
    ),
)
