"""Used by all other packages: errors, checks of values, files, named random streams, rows."""
