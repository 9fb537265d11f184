"""Models of other packages, with the weights of ours: contenders in the benchmarks."""
