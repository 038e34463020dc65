"""The session loop: class orders from files, a method over a stream, and what is measured in it."""
