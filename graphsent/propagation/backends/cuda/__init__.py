"""Generated CUDA: the C of a recurrence, compiled for a GPU at first use."""
