"""The parts of the benchmarks ``propagation.py`` and ``convolution.py``."""
