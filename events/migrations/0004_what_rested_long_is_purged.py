"""What rested long enough is purged by one function, whole and with a certificate; nothing else goes (ruling 28)."""

from django.db import migrations, models

from liyagent.core.appendonly import AppendOnly
from liyagent.core.definer import RunsAsOwner

PURGE = """
-- Purging. The rules stand in the triggers, so that they hold for whoever is at it, the owner included: a chain gets a
-- certificate only where it is over for as long as events are kept, and an event or a head goes only where its certificate
-- stands. Serving needs no right to delete: `liyagent_purge_events` has it.

-- What a chain is, for a purge of what rested since before `p_before`: `due`; `kept`, as a run of it goes on or something of
-- it is newer; `unsealed`, as no root holds its last event; `odd`, as its events are not those that its head tells of: what
-- was tampered with is not purged away. Reads runs by name: a chain is over when its runs are.
CREATE FUNCTION liyagent_chain_to_purge(
    p_correlation uuid, p_before timestamptz, OUT state text, OUT count bigint, OUT hash bytea, OUT last_at timestamptz
) LANGUAGE plpgsql STABLE AS $$
DECLARE v_unsealed boolean; v_rows bigint; v_last bytea;
BEGIN
    SELECT h.count, h.hash, h.is_unsealed INTO count, hash, v_unsealed
        FROM events_eventhead h WHERE h.correlation_id = p_correlation;
    IF NOT FOUND THEN state := 'odd'; RETURN; END IF;
    state := 'kept';
    IF EXISTS (SELECT 1 FROM runs_run r WHERE r.correlation_id = p_correlation
            AND (r.ended_at IS NULL OR r.ended_at >= p_before)) THEN
        RETURN;
    END IF;
    SELECT e.at, e.hash INTO last_at, v_last FROM events_runevent e WHERE e.correlation_id = p_correlation
        ORDER BY e.number DESC LIMIT 1;
    IF last_at >= p_before THEN RETURN; END IF;
    SELECT count(*), max(e.at) INTO v_rows, last_at FROM events_runevent e WHERE e.correlation_id = p_correlation;
    IF last_at >= p_before THEN RETURN; END IF;
    state := CASE WHEN v_rows <> count OR v_rows > 0 AND v_last <> hash THEN 'odd'
        WHEN v_unsealed THEN 'unsealed' ELSE 'due' END;
END $$;

-- A certificate tells what is so, whoever asks for it, and whatever it was asked to tell.
CREATE FUNCTION liyagent_certify_purge() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE v_days int; v record;
BEGIN
    SELECT r.days INTO v_days FROM events_retention r WHERE r.id = 1;
    IF coalesce(v_days, 0) = 0 THEN
        RAISE EXCEPTION 'events are kept for good: chain % is not to be purged', NEW.correlation_id
            USING ERRCODE = 'restrict_violation';
    END IF;
    NEW.kept_days := greatest(NEW.kept_days, v_days);
    NEW.at := liyagent_now();
    NEW.asked_by := session_user;
    SELECT * INTO v FROM liyagent_chain_to_purge(NEW.correlation_id, NEW.at - make_interval(hours => 24 * NEW.kept_days));
    IF v.state <> 'due' THEN
        RAISE EXCEPTION 'chain % is not to be purged: %, and events are kept for % days', NEW.correlation_id, v.state,
            NEW.kept_days USING ERRCODE = 'restrict_violation';
    END IF;
    NEW.count := v.count;
    NEW.hash := v.hash;
    NEW.last_at := v.last_at;
    RETURN NEW;
END $$;

-- For events and for heads: nothing is changed or deleted but what a certificate tells of, and that by the owner's function.
CREATE FUNCTION liyagent_refuse_but_purge() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'DELETE'
        AND (SELECT pg_get_userbyid(c.relowner) FROM pg_class c WHERE c.oid = TG_RELID) = current_user
        AND EXISTS (SELECT 1 FROM events_purgecertificate p WHERE p.correlation_id = OLD.correlation_id)
    THEN
        RETURN OLD;
    END IF;
    RAISE EXCEPTION '% is append-only: % refused', TG_TABLE_NAME, TG_OP USING ERRCODE = 'restrict_violation';
END $$;

-- The lowest UUIDv7 that can have been made at this time: chains are walked in the order in which they began.
CREATE FUNCTION liyagent_first_id_at(p_at timestamptz) RETURNS uuid LANGUAGE sql IMMUTABLE AS $$
    SELECT (lpad(to_hex(greatest(0, floor(extract(epoch FROM p_at) * 1000)::bigint)), 12, '0') || repeat('0', 20))::uuid
$$;

-- Look at the next `p_heads` heads behind `p_after`, in the order in which their chains began, and purge those that are due:
-- each whole, with its certificate. Ends early once `p_events` are gone. What is told: how many it looked at, where it came
-- to, what it purged, and how many it would have but for a reason that somebody should look at. `p_days` can keep events
-- longer than the database does, and not shorter. One at a time: another is told NULL, so that certificates are
-- numbered in the order of their commits. No head is locked but one that nobody appends to any more.
CREATE FUNCTION liyagent_purge_events(
    p_days int, p_after uuid, p_heads int, p_events int, p_actor text,
    OUT looked int, OUT last uuid, OUT chains int, OUT events bigint, OUT odd int, OUT unsealed int
) LANGUAGE plpgsql AS $$
DECLARE v_days int; v_before timestamptz; v_chain uuid; v_first bigint; v_number bigint; v record;
BEGIN
    IF NOT pg_try_advisory_xact_lock(7246172803118) THEN RETURN; END IF;
    SELECT greatest(r.days, p_days) INTO v_days FROM events_retention r WHERE r.id = 1 AND r.days > 0;
    v_before := liyagent_now() - make_interval(hours => 24 * v_days);
    looked := 0; chains := 0; events := 0; odd := 0; unsealed := 0;
    FOR v_chain IN SELECT h.correlation_id FROM events_eventhead h
        WHERE h.correlation_id > p_after AND h.correlation_id < liyagent_first_id_at(v_before)
        ORDER BY h.correlation_id LIMIT p_heads
    LOOP
        looked := looked + 1; last := v_chain;
        SELECT * INTO v FROM liyagent_chain_to_purge(v_chain, v_before);
        odd := odd + (v.state = 'odd')::int;
        unsealed := unsealed + (v.state = 'unsealed')::int;
        CONTINUE WHEN v.state <> 'due';
        PERFORM 1 FROM events_eventhead h WHERE h.correlation_id = v_chain FOR UPDATE SKIP LOCKED;
        CONTINUE WHEN NOT FOUND;
        INSERT INTO events_purgecertificate (correlation_id, count, hash, kept_days, at, asked_by)
            VALUES (v_chain, v.count, v.hash, v_days, v_before, '') RETURNING number INTO v_number;
        DELETE FROM events_runevent e WHERE e.correlation_id = v_chain;
        DELETE FROM events_eventhead h WHERE h.correlation_id = v_chain;
        v_first := coalesce(v_first, v_number);
        chains := chains + 1; events := events + v.count;
        EXIT WHEN events >= p_events;
    END LOOP;
    IF chains > 0 THEN
        PERFORM liyagent_audit('events.purged', p_actor, '', NULL, NULL, '', jsonb_build_object('chains', chains,
            'events', events, 'kept_days', v_days, 'first_certificate', v_first, 'last_certificate', v_number));
    END IF;
END $$;

-- The same walk, changing nothing: what a purge would take now.
CREATE FUNCTION liyagent_purgeable_events(
    p_days int, p_after uuid, p_heads int,
    OUT looked int, OUT last uuid, OUT chains int, OUT events bigint, OUT odd int, OUT unsealed int
) LANGUAGE sql STABLE AS $$
    WITH kept AS (
        SELECT liyagent_now() - make_interval(hours => 24 * greatest(r.days, p_days)) AS until FROM events_retention r
            WHERE r.id = 1 AND r.days > 0
    ), heads AS (
        SELECT h.correlation_id FROM events_eventhead h
        WHERE h.correlation_id > p_after AND h.correlation_id < (SELECT liyagent_first_id_at(until) FROM kept)
        ORDER BY h.correlation_id LIMIT p_heads
    ), seen AS (
        SELECT heads.correlation_id, it.state, it.count FROM heads, kept,
            LATERAL liyagent_chain_to_purge(heads.correlation_id, kept.until) AS it
    )
    SELECT count(*)::int, (SELECT correlation_id FROM heads ORDER BY 1 DESC LIMIT 1),
        count(*) FILTER (WHERE state = 'due')::int, coalesce(sum(count) FILTER (WHERE state = 'due'), 0)::bigint,
        count(*) FILTER (WHERE state = 'odd')::int, count(*) FILTER (WHERE state = 'unsealed')::int
    FROM seen
$$;

-- Changing how long events are kept is told in the audit log, by whichever way it was changed.
CREATE FUNCTION liyagent_tell_of_retention() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM liyagent_audit('events.retention', 'database:' || session_user, '', NULL, NULL, '',
        jsonb_build_object('before', OLD.days, 'days', CASE WHEN TG_OP = 'UPDATE' THEN NEW.days END));
    RETURN NULL;
END $$;
"""
BACK = "DROP FUNCTION " + ", ".join(
    (
        "liyagent_tell_of_retention()",
        "liyagent_purgeable_events(int, uuid, int)",
        "liyagent_purge_events(int, uuid, int, int, text)",
        "liyagent_first_id_at(timestamptz)",
        "liyagent_refuse_but_purge()",
        "liyagent_certify_purge()",
        "liyagent_chain_to_purge(uuid, timestamptz)",
    )
)
# A head is written at each flush, which no trigger is to slow: only its deletion is looked at.
TRIGGERS = """
DROP TRIGGER events_runevent_refuse_rows ON events_runevent;
CREATE TRIGGER events_runevent_refuse_rows BEFORE UPDATE OR DELETE ON events_runevent
    FOR EACH ROW EXECUTE FUNCTION liyagent_refuse_but_purge();
ALTER TABLE events_runevent ENABLE ALWAYS TRIGGER events_runevent_refuse_rows;
CREATE TRIGGER events_eventhead_refuse_rows BEFORE DELETE ON events_eventhead
    FOR EACH ROW EXECUTE FUNCTION liyagent_refuse_but_purge();
ALTER TABLE events_eventhead ENABLE ALWAYS TRIGGER events_eventhead_refuse_rows;
CREATE TRIGGER events_eventhead_refuse_truncate BEFORE TRUNCATE ON events_eventhead
    FOR EACH STATEMENT EXECUTE FUNCTION liyagent_refuse_change();
ALTER TABLE events_eventhead ENABLE ALWAYS TRIGGER events_eventhead_refuse_truncate;
CREATE TRIGGER events_purgecertificate_certify BEFORE INSERT ON events_purgecertificate
    FOR EACH ROW EXECUTE FUNCTION liyagent_certify_purge();
ALTER TABLE events_purgecertificate ENABLE ALWAYS TRIGGER events_purgecertificate_certify;
CREATE TRIGGER events_retention_told AFTER UPDATE OR DELETE ON events_retention
    FOR EACH ROW EXECUTE FUNCTION liyagent_tell_of_retention();
ALTER TABLE events_retention ENABLE ALWAYS TRIGGER events_retention_told;
CREATE TRIGGER events_retention_refuse_truncate BEFORE TRUNCATE ON events_retention
    FOR EACH STATEMENT EXECUTE FUNCTION liyagent_refuse_change();
ALTER TABLE events_retention ENABLE ALWAYS TRIGGER events_retention_refuse_truncate;
INSERT INTO events_retention (id, days) VALUES (1, 365);
"""
TRIGGERS_BACK = """
DROP TRIGGER events_retention_refuse_truncate ON events_retention;
DROP TRIGGER events_retention_told ON events_retention;
DROP TRIGGER events_purgecertificate_certify ON events_purgecertificate;
DROP TRIGGER events_eventhead_refuse_truncate ON events_eventhead;
DROP TRIGGER events_eventhead_refuse_rows ON events_eventhead;
DROP TRIGGER events_runevent_refuse_rows ON events_runevent;
CREATE TRIGGER events_runevent_refuse_rows BEFORE UPDATE OR DELETE ON events_runevent
    FOR EACH ROW EXECUTE FUNCTION liyagent_refuse_change();
ALTER TABLE events_runevent ENABLE ALWAYS TRIGGER events_runevent_refuse_rows;
"""


class Migration(migrations.Migration):
    dependencies = [
        ("events", "0003_tags_and_seals"),
        ("audit", "0004_rows_are_written_by_one_function"),
    ]

    operations = [
        migrations.CreateModel(
            name="PurgeCertificate",
            fields=[
                ("number", models.BigAutoField(primary_key=True, serialize=False)),
                ("correlation_id", models.UUIDField(unique=True)),
                ("count", models.BigIntegerField()),
                ("hash", models.BinaryField()),
                ("last_at", models.DateTimeField(null=True)),
                ("kept_days", models.IntegerField()),
                ("at", models.DateTimeField()),
                ("asked_by", models.CharField(max_length=63)),
            ],
            options={
                "verbose_name": "purge certificate",
                "ordering": ("number",),
                "default_permissions": ("view",),
            },
        ),
        migrations.CreateModel(
            name="Retention",
            fields=[
                ("id", models.SmallIntegerField(primary_key=True, serialize=False)),
                ("days", models.IntegerField()),
            ],
            options={
                "default_permissions": (),
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(("id", 1)), name="events_one_retention"
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("days__gte", 0), ("days__lte", 36500)),
                        name="events_retention_days",
                    ),
                ],
            },
        ),
        migrations.RunSQL(PURGE, BACK),
        AppendOnly("events_purgecertificate"),
        migrations.RunSQL(TRIGGERS, TRIGGERS_BACK),
        RunsAsOwner("liyagent_append_events", table="events_runevent"),
        RunsAsOwner("liyagent_purge_events", table="events_runevent"),
    ]
