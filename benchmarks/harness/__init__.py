"""The parts of the benchmark of propagation, ``benchmarks/propagation.py``."""
