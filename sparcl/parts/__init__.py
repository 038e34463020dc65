"""The parts of a learner."""
