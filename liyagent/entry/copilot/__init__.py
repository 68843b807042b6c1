"""Co-pilot: a person talks with an agent, turn by turn.

Tables: Conversation, Turn. Verbs: begin a conversation, ask a turn of it, forget what is over.
A turn is an arrival and its run: asked again it is the same, and its answer lands on the run's transcript (CR-05, CR-08).
Called by the API below /api/copilot.
"""
