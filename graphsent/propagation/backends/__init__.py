"""What runs a recurrence over a schedule."""
