"""Documents that agents search: read from folders, addresses and MCP servers, and kept in step by resumable jobs (CR-06).

Tables: Source, Document. Verbs: `save_source`, `remove_source`, `ask_sync`, `search_documents`. The job is
`source_sync`; the local tool `documents/search` is what agents call. Called by HTTP, the console and `manage.py sources`.
"""
