"""What a run did, in order, as a chain that shows every change; and what shows it to others.

Tables: RunEvent, EventHead, PurgeCertificate, Retention, Root, Identity, Rollback. Verbs: `EventBuffer.add` (in the process),
the flush inside the hot SQL functions, `verdict_of` and `fold` (pure), `purge_events`, `seal_due`, `export_due`, `write_pack`,
`accept_rollback`. Called by runs and, later, sagas and workflows.
"""
