"""Other agents ask ours, by the A2A protocol (JSON-RPC, wire names of 1.0 and 0.3): a task is a run.

Tables: Task (a run as its caller knows it), PushConfig (where a caller wants to be told). Verbs: `receive`, `decide_by`,
`cancel`, `keep_config`, `deliver`, `follow`. Called over HTTP, below /a2a/, by the rounds of each process and by triggers.
"""
