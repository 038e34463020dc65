"""Entry points for users: the command line and the files it writes."""
