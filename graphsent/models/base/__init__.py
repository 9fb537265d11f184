"""The base of all models: vocabulary and arguments, saving and loading, raw text."""
