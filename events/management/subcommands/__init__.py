"""What `manage.py events` can do: one file a subcommand, each named in `events.management.commands.events`."""
