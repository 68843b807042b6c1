"""What was said in a run that ended, sealed, until retention prunes it.

Tables: Transcript. Verbs: written by the hot function `liyagent_finish` in the
commit that ends the run; opened by `runs.transcript`. Called by runs and entry.
"""
