"""What stands for words: tables of vectors, features of encoders, projections."""
