"""What every room stands on, and what imports none of them.

No tables. Errors and their codes, settings read once, plain data and its
canonical form, digests, sealing, the process's own clock, guarded HTTP.
Called by every room.
"""
