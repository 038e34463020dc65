"""Streams that a file states: the classes of each session, or its training samples, whose classes may come back.

Three forms:

- JSON ``{"sessions": [["cat", "dog"], ["eel"]]}``: classes by name, or by position from 0 in the class list
- JSON ``{"ids": [["cat/1.jpg", ...], [...]]}``: training samples by id
- CSV with the columns ``id`` and ``session`` among others; sessions are whole numbers, in their order
"""

import csv
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from sparcl.base.errors import InputError, listed
from sparcl.base.types import Ints
from sparcl.protocol.stream import order_hash

FORMS = (
    'Expected {"sessions": [["cat"], ["dog", "eel"]]} (classes by name, or by position from 0), {"ids": [["a.jpg"], '
    '["b.jpg"]]} (training samples), or a .csv with the columns id and session.'
)


@dataclass(frozen=True)
class StatedOrder:
    """The content of a file; one of the two.

    Attributes
    ----------
    path : of the file, for messages
    classes : names or positions of each session's classes
    ids : training samples of each session
    """

    path: Path
    classes: list[list[str | int]] | None = None
    ids: list[list[str]] | None = None

    @property
    def sessions(self) -> int:
        """The number of sessions."""
        return len(self.classes or self.ids or [])

    def positions(self, class_names: Sequence[str]) -> list[list[int]]:
        """Return the classes of each session as positions in the class list of the data.

        Raises
        ------
        InputError
            For a class that is unknown, missing, or there twice.
        """
        position = {name: number for number, name in enumerate(class_names)}
        found: list[list[int]] = []
        for number, session in enumerate(self.classes or [], 1):
            found.append([])
            for key in session:
                label = key if isinstance(key, int) else position.get(key, -1)
                if not 0 <= label < len(class_names):
                    raise InputError(
                        f"{self.path}, session {number}: there is no class {key!r} among the "
                        f"{len(class_names)} of the data set ({listed(class_names)}). Another data set's order, or a "
                        "misspelt name."
                    )
                found[-1].append(label)
        flat = [label for session in found for label in session]
        counts = np.bincount(flat, minlength=len(class_names))
        if wrong := np.flatnonzero(counts != 1).tolist():
            names = [class_names[label] for label in wrong]
            raise InputError(
                f"{self.path}: a class comes in one session, but {len(names)} of {len(class_names)} classes come "
                f"in none or twice: {listed(names)}. A class that comes back is stated by the ids of its samples."
            )
        return found

    def arrivals(self, ids: Sequence[str], labels: Ints) -> tuple[list[list[int]], list[int]]:
        """Return the new classes of each session, and the session of each training sample.

        Parameters
        ----------
        ids, labels : (n,) of the training samples, in file order

        Returns
        -------
        classes of each session that no earlier one had, ascending; and (n,) sessions from 0, -1 for a sample
        that the file does not name, which is left out

        Raises
        ------
        InputError
            For an id that is unknown or there twice, a session without a new class, and a class without samples.
        """
        row = {identifier: number for number, identifier in enumerate(ids)}
        session = np.full(len(ids), -1)
        for number, named in enumerate(self.ids or []):
            for identifier in named:
                where = row.get(identifier)
                if where is None:
                    raise InputError(
                        f"{self.path}, session {number + 1}: there is no training sample {identifier!r}. An id looks "
                        f"like {next(iter(row), '')!r}. The file belongs to another data set, or names test samples."
                    )
                if session[where] >= 0:
                    raise InputError(
                        f"{self.path}: the sample {identifier!r} is there twice. Take one out."
                    )
                session[where] = number
        seen: set[int] = set()
        new: list[list[int]] = []
        for number in range(self.sessions):
            new.append(sorted(set(labels[session == number].tolist()) - seen))
            seen |= set(new[-1])
            if not new[-1]:
                raise InputError(
                    f"{self.path}, session {number + 1}: it brings no class that is new, and accuracies are told by "
                    "the session in which a class arrives. Join it with the session before."
                )
        if missing := sorted(set(np.unique(labels).tolist()) - seen):
            raise InputError(
                f"{self.path}: {len(missing)} classes have samples in no session, first class number {missing[0]}. "
                "Name some of their samples, or take the classes out of the data set."
            )
        return new, session.tolist()


def read(path: str | Path) -> StatedOrder:
    """Read the file of a stream.

    Raises
    ------
    InputError
        When it is missing, of none of the forms, or holds other sessions than its hash says.
    """
    path = Path(path)
    if path.suffix.lower() == ".csv":
        return StatedOrder(path, ids=_columns(path))
    if path.suffix.lower() != ".json":
        raise InputError(f"{path}: not a class order. {FORMS}")
    try:
        content = json.loads(path.read_text(encoding="utf-8-sig"))
    except (OSError, ValueError, RecursionError) as error:
        raise InputError(f"{path}: missing or damaged ({error}). {FORMS}") from error
    content = content if isinstance(content, dict) else {}
    classes: Any = content.get("sessions")
    ids: Any = content.get("ids")
    if "session_of_sample" in content:
        raise InputError(
            f"{path}: the order of a stream by samples, as the workflow keeps it. Name the file that it was made of."
        )
    if ids is not None and classes is None and _is_list(ids, str):
        return StatedOrder(path, ids=ids)
    if ids is not None or not (_is_list(classes, int) or _is_list(classes, str)):
        raise InputError(f"{path}: not a class order. {FORMS}")
    if content.get("sha256", own := order_hash(classes)) != own:
        raise InputError(
            f"{path}: its sessions are not those of its sha256. Usual cause: it was edited by hand; take the "
            "key sha256 out of an order of your own."
        )
    return StatedOrder(path, classes=classes)


def _is_list(value: Any, kind: type) -> bool:
    """Tell whether a value is a list of lists of one kind, each with an entry."""
    return (
        isinstance(value, list)
        and bool(value)
        and all(
            isinstance(part, list) and part and all(type(entry) is kind for entry in part)
            for part in value
        )
    )


def _columns(path: Path) -> list[list[str]]:
    """Return the ids of each session of a CSV file."""
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            table = csv.DictReader(file, strict=True)
            if not {"id", "session"} <= {*(table.fieldnames or ())}:
                raise InputError(f"{path}: it has no columns id and session. {FORMS}")
            found: dict[int, list[str]] = {}
            for row in table:
                number = row["session"] or ""
                if not (number.isascii() and number.isdecimal() and len(number) < 19):
                    raise InputError(
                        f"{path}, line {table.line_num}: session {number!r} is no whole number. Write 1, 2, 3."
                    )
                found.setdefault(int(number), []).append(row["id"])
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise InputError(f"{path}: missing or damaged ({error}).") from error
    if not found:
        raise InputError(f"{path}: it has no rows. {FORMS}")
    return [found[number] for number in sorted(found)]
