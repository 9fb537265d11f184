"""Compiled kernels for CPUs: building and loading them, and the C that is not generated."""
