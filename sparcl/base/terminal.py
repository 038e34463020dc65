"""Text on its way to a terminal: no name steers it, and no name looks like a line of its own."""

import logging


def printable(text: str) -> str:
    """Return a text with every character that is not printed, line breaks among them, as its escape."""
    return "".join(c if c.isprintable() else ascii(c)[1:-1] for c in text)


def printable_lines(text: str) -> str:
    """Return a text of several lines, each as :func:`printable` returns it; a tab becomes spaces."""
    return "\n".join(printable(line.expandtabs()) for line in text.split("\n"))


class Formatter(logging.Formatter):
    """A log record as one line; a traceback keeps its lines."""

    def formatMessage(self, record: logging.LogRecord) -> str:
        """Return the message, as :class:`logging.Formatter` makes it, without what steers a terminal."""
        record.message = printable(record.message)
        return super().formatMessage(record)
