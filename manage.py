#!/usr/bin/env python
"""The command line: `manage.py help` lists what it can do."""

import os
import sys

from liyagent.core.command_line import run

if __name__ == "__main__":
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "liyagent.settings")
    sys.exit(run(sys.argv))
