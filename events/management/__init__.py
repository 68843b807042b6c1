"""The room at the shell: `manage.py events`."""
