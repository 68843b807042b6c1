"""Which process is alive, and what it alone may do.

Tables: Holder (one life of one process), Lease (leader, sagas, jobs).
Verbs: `register_holder`, `renew`, `take_lease`, `is_dead` (proof). A run's own
lease is its head's holder and that holder's deadline. Called by runs.
"""
