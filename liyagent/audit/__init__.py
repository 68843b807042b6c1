"""Who did what, for good: one append-only row for each thing worth knowing later.

Tables: AuditRow. Verbs: `record` (the only one that writes, through the SQL
function `liyagent_audit` that the hot path uses too). Called by every room
above; a row rides in the transaction of what it tells of.
"""
