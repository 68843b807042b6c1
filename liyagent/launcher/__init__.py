"""Starts what a machine without a database server needs: PostgreSQL, and the whole product.

No tables and no Django: it runs before the settings can be read. Binaries, the
cluster, the ephemeral cluster of the tests, and `up`, the supervisor of a
development set-up. Called by the Makefile and by the tests.
"""
