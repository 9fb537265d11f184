"""What commands take: for each a text of help and its arguments.

These modules import neither torch nor what needs it, so that help and complaints about arguments
come at once; what they say about models and tasks is what :mod:`graphsent.cli.declared` reads.
"""
