"""One call of a tool by a person, outside any run (CR-30), through the same gates as an agent's.

No tables: what was sent and what came of it stands in the audit log. Verbs: `call_tool`. Called by
`POST /api/tools/{server}/{tool}/call`.
"""
