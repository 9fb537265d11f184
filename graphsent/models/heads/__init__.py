"""What is learnt from the vectors of encoders: classes, scores, relatedness."""
