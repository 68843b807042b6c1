"""The ways in, one folder each: what comes in is made a run or a call, what comes of it is delivered.

No tables of its own. Verbs: `inspector.call.call_tool`. Called by HTTP alone; imports every room below
and is imported by the console and the demo only.
"""
