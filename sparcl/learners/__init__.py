"""The protocol that every method obeys, and the learners that obey it."""
