"""Things to try the product on, and the show of its promise.

No tables. Vendors: real tool servers with a ledger of their own. `seed`
loads the catalogue and a few runs; `python -m liyagent.demo` kills a process
in the middle of writes and judges from the ledgers. Called by people alone.
"""
