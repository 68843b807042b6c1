"""The way mcp: agents as tools of an MCP server at `/mcp`, for clients and agents of others and for other instances of ours.

Tables: none; a call is an arrival and its run. Verbs: `take_call`, `told_of`. Called by the application (`asgi.py`) behind
a view that judges who asks; the SDK, half a second and 60 MB, is imported with the first request.
"""
