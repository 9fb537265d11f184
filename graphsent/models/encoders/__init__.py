"""Parts of encoders that several papers share: from a batch to a vector for each unit."""
