"""What waits for a person: a call that a gate held, decided once, and what became of it.

Tables: Approval. Verbs: file (by the hot functions of `runs`, in the commit that marks the
call), decide, expire, withdraw, remind. Called by runs (which file and dispatch), the API,
the console and the leader's tick. What a decision sets going above is in `handlers`.
"""
