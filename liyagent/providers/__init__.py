"""Model providers: one file each, one call signature.

No tables. The neutral types (messages, calls, answers) go into checkpoints
and replays, so they are ours and outlive any SDK. Verbs: `client_for` gives
the client of an agent; `ask` is one model step. Called by runs and replays.
"""
