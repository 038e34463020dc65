"""State as a mapping or a file: taken, written, and gone on from."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Self

from sparcl.base.errors import InputError
from sparcl.base.npz import read_npz, write_npz
from sparcl.base.state import Stateful, copied, pack, unpack
from sparcl.base.types import Array


class Saved(Stateful):
    """What can be stopped at any time, and goes on to the bit from its state."""

    def state(self) -> dict[str, Any]:
        """Return all that the learner keeps: a flat mapping of arrays and texts.

        :meth:`from_state` continues to the bit.  Unless ``keeps_samples`` says otherwise there are
        sums and bases in it, and no sample of two or more a class.  A snapshot: what the learner fits
        later does not change it.
        """
        return copied(pack(self))

    @classmethod
    def from_state(cls, state: Mapping[str, Any]) -> Self:
        """Return a learner that goes on where :meth:`state` was taken.

        Raises
        ------
        InputError
            When the state is another kind of learner's, lacks something or holds too much, or has a
            value that is not finite or of a shape that does not fit the rest.
        """
        learner = unpack(state)
        if not isinstance(learner, cls):
            raise InputError(
                f"This state belongs to {type(learner).__name__}, not to {cls.__name__}: load it with the "
                "class that saved it."
            )
        return learner

    def save(self, path: str | Path, **beside: str | Array) -> None:
        """Write the state, and texts and arrays beside it, as :func:`sparcl.base.npz.write_npz` does."""
        write_npz(path, pack(self) | beside)

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Read what :meth:`save` wrote; no pickle is ever loaded.

        Raises
        ------
        InputError
            When the file is no such state, or was changed after it was written.
        """
        state = read_npz(path)
        try:
            return cls.from_state(state)
        except (ValueError, InputError) as error:
            raise InputError(f"{path}: not a learner that can go on ({error}).") from error
