"""The help text and arguments of each command.

These modules import neither torch nor anything that needs it, so that help and usage errors appear
at once; what they say about models and tasks is read by :mod:`graphsent.cli.declared`.
"""
