"""The grammar of the typed questions."""
