"""Microsoft Teams as a way in: turns of conversations, replies that appear once, cards to decide by.

Tables: TeamsBot, TeamsPerson, TeamsTurn. Verbs: save_bot, save_person, receive_message, answer_invoke.
Called by the channel at `/api/messages`, by the outbox of `entry`, by the console and `manage.py teams`.
"""
