"""The only way out to a tool server.

Tables: ToolServer, Tool, Policy, DataPolicy. Verbs: `make_call` (judge, key, mark, send, settle), `judge`, `try_call`, `send`,
`sync_server`, `approve_tool`, `load_policy`, `permit`, `save_data_policy`. It does not know who
asks: a Scope does. Called by runs and by the entries; `gateway.mcp` and `gateway.a2a` are imported by it alone.
"""
