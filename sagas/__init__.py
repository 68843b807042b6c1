"""Sagas: what a run did, so that it can be undone, newest first, when the run fails; and the hand-off to a person.

Tables: `Saga` (one a root run, by its id) and `Undo` (one a write that took effect, its arguments fixed and sealed).
Verbs: declare and resolve an undo, list, close. The SQL that registers an undo rides in the commit that settles the write.
Called by `runs`, which makes the undos through the gates as it makes any call.
"""
