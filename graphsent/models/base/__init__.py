"""What every model has: its vocabulary and arguments, saving and loading, raw text."""
