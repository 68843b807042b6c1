"""What a run did, in order, as a chain that shows every change.

Tables: RunEvent (append-only), EventHead (one a correlation id). Verbs:
`EventBuffer.add` (in the process), the flush inside the hot SQL functions,
`first_break` (pure). Called by runs and, later, sagas and approvals.
"""
