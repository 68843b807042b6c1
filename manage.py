#!/usr/bin/env python
"""The command line: `manage.py help` lists what it can do."""

import gc
import os
import sys

from liyagent.core.command_line import run

if __name__ == "__main__":
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "liyagent.settings")
    # Nothing that is imported becomes garbage; looking for some takes a fifth of a start. `OperationConfig` ends this.
    gc.disable()
    sys.exit(run(sys.argv))
