#!/usr/bin/env python
"""The command line: `manage.py help` lists what it can do."""

import os
import sys

from django.core.management import execute_from_command_line

from liyagent.core.errors import LiyagentError

if __name__ == "__main__":
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "liyagent.settings")
    try:
        execute_from_command_line(sys.argv)
    except LiyagentError as error:
        sys.exit(f"{error.code}: {error}")
