"""Tickets: work that a failed run hands to people, in a queue, until somebody closes it.

Tables: `Ticket` (one a source, such as a saga) and `Comment`. Verbs: file, comment, change. Called by `runs` (which files
one inside its own transaction), the API, the console and the shell. Where another ticket system takes its place, `outside`
says by which call; that call is made elsewhere, through the gates.
"""
