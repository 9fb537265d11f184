"""What the benchmarks share: contenders that take turns, their results, tables and reports."""
