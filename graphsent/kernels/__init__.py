"""Compiled code for CPUs: what builds and loads it, and the C that is not generated."""
