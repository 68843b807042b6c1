"""Liyagent: durable AI agents and workflows for IT operations.

The project package: settings, URLs and the rooms below the top level.
Each sub-package is one room; its own docstring says what it is for.
"""
