"""The README's copy of the main table: ``python -m figures.readme`` renews it, a test compares it."""

from pathlib import Path

from sparcl.base.errors import InputError
from sparcl.base.files import write_text

START, END = "<!-- paper/bundled/tables/main.md -->\n", "<!-- end -->\n"


def renewed(readme: str, table: str) -> str:
    """Return the README's text with the table between its two marks.

    Raises
    ------
    InputError
        A mark is missing.
    """
    before, start, rest = readme.partition(START)
    _, end, after = rest.partition(END)
    if not (start and end):
        raise InputError(f"README.md: the lines {START.strip()} and {END.strip()} are missing.")
    return f"{before}{START}\n{table.strip()}\n\n{END}{after}"


if __name__ == "__main__":
    path = Path("README.md")
    table = Path("paper/bundled/tables/main.md").read_text(encoding="utf-8")
    write_text(path, renewed(path.read_text(encoding="utf-8"), table))
