"""Doors for people: the command line and the files it writes."""
