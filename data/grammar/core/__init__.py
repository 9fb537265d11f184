"""Shared by all corpora: chance, derivations, inflection, file formats."""
