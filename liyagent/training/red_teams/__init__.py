"""Red teams: an agent's model is asked prompts that try to misuse it; its tools are answered from a script, and nothing real is called.

Tables: Finding. Verbs: `ask_red_team`, `forget_findings`. The job is `red_team`, which ends `interrupted` when its process stops
(CR-31). Called by HTTP, the console and `manage.py red_team`.
"""
