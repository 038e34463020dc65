"""What a learner is made of."""
