"""The only way out to a tool server.

Tables: ToolServer, Tool, Policy. Verbs: `make_call` (judge, key, mark, send,
settle), `judge`, `send`, `sync_server`, `approve_tool`. It does not know who
asks: a Scope does. Called by runs; `gateway.mcp` is imported by the gateway alone.
"""
