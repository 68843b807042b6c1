"""`python -m tests.trials.cuts.within MODULE ...`: run a module where Django is set up, as `manage.py` would."""

from __future__ import annotations

import os
import runpy
import sys

import django

if __name__ == "__main__":
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "liyagent.settings")
    django.setup()
    del sys.argv[0]
    runpy.run_module(sys.argv[0], run_name="__main__")
