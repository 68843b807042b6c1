"""Hand-offs: what one agent handed another, or a run a person, kept so that it can be shown as it was, for ever.

Tables: `Snapshot` (content by its digest), `Version` (which snapshot is number n of a thread) and `Reading` (who read which).
All are append-only. Verbs: open a thread, revise it, read and verify it. Called by HTTP and the console; runs write theirs in
their own commits by `sql/handoff.sql`.
"""
