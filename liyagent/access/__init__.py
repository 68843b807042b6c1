"""Access: who may do what, by session or API key.

Tables: ApiKey, Attempt (what failed, counted). Verbs: `create_key`, `revoke_key`, `create_user`, `switch_user`, `reserve_login`.
Called by every view through `GuardedView`: a view that names no permission is for superusers alone (ruling 36). What a request
may is asked through `permissions.holds`, which asks the scopes of its key too.
"""
