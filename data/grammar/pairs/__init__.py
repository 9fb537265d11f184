"""The grammar of the sentence pairs."""
