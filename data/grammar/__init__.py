"""The grammar behind the synthetic corpora of this directory (standard library only)."""
