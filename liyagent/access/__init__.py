"""Access: who may do what, by session or API key.

Tables: ApiKey. Verbs: `create_key`, `revoke_key`. Called by every view through `GuardedView`:
a view that names no permission is for superusers alone (ruling 36).
"""
