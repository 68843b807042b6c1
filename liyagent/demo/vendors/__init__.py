"""Three vendors behind one loopback port: real MCP servers, each with a ledger that outlives it.

No Django tables: a SQLite file per vendor. `incident` dedupes on a key,
`jira` stores our key without deduping, `servicenow` knows no key at all: the
three kinds of write. Called by the demo, trials and bench, over HTTP only.
"""
