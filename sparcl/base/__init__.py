"""What every room may use: errors, checks of values, files, named random streams, rows."""
