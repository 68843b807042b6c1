"""The cut trials: every protocol message of a run is a cut, and each of them is visited.

A short run of each kind is carried by a process of its own, the victim, whose connections to PostgreSQL and to the
vendors lead through proxies that know where a message ends. Each message is numbered; at each number the victim is
killed, and from a write's mark to its settle it is frozen and disconnected too. A survivor then finishes the run, and
what came of it is judged from the vendors' ledgers and the database (ruling 37).
"""
