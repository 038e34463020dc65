"""The commands of the command line, one a file: `add` declares its arguments, `run` runs it."""
