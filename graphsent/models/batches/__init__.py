"""Trees, sentences and pairs as models read them, and the batches made of these."""
