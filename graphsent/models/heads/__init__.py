"""Heads on top of encoders: classification, regression, relatedness."""
