"""Streams of sessions, the session loop, and what is measured in it."""
