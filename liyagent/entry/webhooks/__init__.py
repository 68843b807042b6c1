"""Webhooks and ticket events: any system's signed call becomes a run, once however often it is sent (CR-05, ruling 29).

Tables: Trigger. Verbs: save_trigger, switch_trigger, remove_trigger, try_mapping, receive_call.
Called by the senders of webhooks (`POST /hooks/{key}`), by the API, the console and the shell. Nothing is handed on:
the answer lands on the run's transcript, for whoever called has hung up."""
