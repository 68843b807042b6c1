"""The other ends of the ways in: each speaks to the victim as the real one does, and says what it was told at last.

One file a way. Each has a class `Visit`, made for one cut: `prepare` what it wants, `play` the victim's part, `send` the same
again to the survivor where nobody answered, `broken` for what its own end has to say. Nothing here asks our database.
"""
