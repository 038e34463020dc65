"""Sums of each class of feature files, in npz files that add up: shards of one data set anywhere."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from sparcl.class_sums import ClassSums
from sparcl.errors import FeatureFileError, InputError
from sparcl.experiment import prepared
from sparcl.features import store
from sparcl.files import replacing
from sparcl.learner import read_state
from sparcl.model import RAW, SOURCE, UNIT

KIND = "sums of classes, 1"


@dataclass
class Sums:
    """What a feature file, or several, come to for a learner that is a sum over samples.

    Attributes
    ----------
    sums : labels are positions in ``class_names``
    terms : what shards must agree in: features, normalisation and ``model.SOURCE``
    class_names : K names
    ids : (n,) bytes, ascending: every sample counts once
    """

    sums: ClassSums
    terms: dict[str, Any]
    class_names: list[str]
    ids: NDArray[np.bytes_]

    @classmethod
    def of_file(cls, path: str | Path, normalize: bool = True) -> Self:
        """Sum one feature file: one pass in blocks of ``store.ROWS``; n d^2 flops at most.

        Memory holds a block, the sums (:class:`sparcl.class_sums.ClassSums`) and the ids.

        Raises
        ------
        FeatureFileError
            When the file is missing, damaged or not what its manifest says.
        """
        header = store.header(path)
        sums = ClassSums(header.d, len(header.class_names))
        for Phi, y in store.blocks(path):
            sums.accumulate(prepared(Phi, normalize), y)
        return cls(sums, terms(header, normalize), header.class_names, np.sort(_ids(path, header)))

    def save(self, path: str | Path) -> None:
        """Write an npz file, whole or not at all; equal sums give equal bytes."""
        card = {"kind": KIND, "terms": self.terms, "class_names": self.class_names}
        content = {"card": json.dumps(card, sort_keys=True), "ids": self.ids} | self.sums.state()
        with replacing(path) as temporary, open(temporary, "wb") as file:
            np.savez(file, allow_pickle=False, **content)

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Read what :meth:`save` wrote, no pickle; InputError when the file is not that."""
        try:
            state = read_state(path)
            card = json.loads(str(state["card"]))
            if card["kind"] != KIND:
                raise ValueError(f"kind {card['kind']!r}")
            sums, ids = ClassSums.from_state(state), state["ids"]
            if len(ids) != sums.counts.sum() or len(card["class_names"]) != sums.classes:
                raise ValueError("samples, ids and class names differ in number")
            return cls(sums, card["terms"], card["class_names"], ids)
        except (KeyError, TypeError, ValueError, IndexError, AttributeError, InputError) as error:
            raise InputError(
                f"{path}: no sums that `python -m sparcl sums` wrote ({error})."
            ) from error

    def rows(self, paths: Sequence[str | Path]) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        """Return features (n, d), prepared as those summed were, and labels (n,) of feature files.

        Raises
        ------
        SparclError
            When a file is damaged, differs in a term or the class list, or a class has no sample.
        """
        normalize = self.terms["normalisation"] == UNIT
        for path in paths:
            header = store.header(path)
            self.agree(str(path), terms(header, normalize), header.class_names)
        parts = [part for path in paths for part in store.blocks(path)]
        Phi = np.concatenate([prepared(features, normalize) for features, _ in parts])
        y = np.concatenate([labels for _, labels in parts]).astype(np.int64)
        missing = np.setdiff1d(np.arange(self.sums.classes), y)
        if len(missing):
            raise InputError(
                f"{', '.join(map(str, paths))}: class {self.class_names[missing[0]]!r} has no sample "
                f"({len(missing)} such classes): no accuracy can count it."
            )
        return Phi, y

    def agree(self, where: str, given: Mapping[str, Any], class_names: Sequence[str]) -> None:
        """Raise InputError, naming the difference, unless terms and class list are these sums'."""
        for name, value in self.terms.items():
            if given.get(name) != value:
                raise InputError(
                    f"{where}: {name} is {given.get(name)!r}, but {value!r} in the sums before it. "
                    "Sums add up, and scores make sense, only where both are the same."
                )
        mine, its = self.class_names, list(class_names)
        if mine != its:
            lengths = f"{len(its)} classes, but {len(mine)}"
            unlike = [
                f"class {i} is {b!r}, but {a!r}"
                for i, (a, b) in enumerate(zip(mine, its, strict=False))
                if a != b
            ]
            raise InputError(
                f"{where}: {unlike[0] if unlike else lengths} in the sums before it. Shards have one class "
                "list, in one order: extract them from one data set."
            )


def terms(header: store.Header, normalize: bool) -> dict[str, Any]:
    """Return what sums of a feature file must agree in with others, as JSON would give it back."""
    own = {"features": header.d, "normalisation": UNIT if normalize else RAW}
    return json.loads(json.dumps(own | {key: header.meta[key] for key in SOURCE}))


def merge(shards: Sequence[tuple[str, Sums]]) -> Sums:
    """Add up shards (with their names), in the order of their smallest ids whatever order they come in.

    So the result is the same to the bit, whichever shard was finished first; memory holds all of them
    and the result.  Adding up sums of sums
    is the same to rounding only: give all shards at once where bits count.

    Raises
    ------
    InputError
        When there is none, one differs in a term or the class list, or two hold the same sample; the
        message names the shard and the difference.
    """
    if not shards:
        raise InputError("No sums to add up: give one file or more.")
    shards = sorted(shards, key=lambda shard: bytes(shard[1].ids[0]))
    first = shards[0][1]
    for name, other in shards[1:]:
        first.agree(name, other.terms, other.class_names)
    ids = np.concatenate([shard.ids for _, shard in shards])
    owner = np.repeat(np.arange(len(shards)), [len(shard.ids) for _, shard in shards])
    ascending = np.argsort(ids, kind="stable")
    ids, owner = ids[ascending], owner[ascending]
    twice = np.flatnonzero(ids[1:] == ids[:-1])
    if len(twice):
        one, two = (shards[owner[i]][0] for i in (twice[0], twice[0] + 1))
        raise InputError(
            f"{two}: {len(twice)} samples are in two shards (first: {ids[twice[0]].decode(errors='replace')!r}, "
            f"in {one} too), and would count twice. Usual cause: a shard that was given or extracted twice."
        )
    total = ClassSums(first.sums.d, first.sums.classes)
    for _, shard in shards:
        total.merge(shard.sums)
    return Sums(total, first.terms, first.class_names, ids)


def _ids(path: str | Path, header: store.Header) -> NDArray[np.bytes_]:
    """Return the ids (n,) of a feature file, which `store.blocks` checks but does not yield."""
    with store._opened(Path(path)) as (file, _, _):
        # h5py's note on the dtype would not go into an npz file
        ids = file["ids"][()].astype(f"S{file['ids'].dtype.itemsize}")
    if hashlib.sha256(np.ascontiguousarray(ids).data).hexdigest() != header.meta["ids_sha256"]:
        raise FeatureFileError(f"{path}: does not match its manifest in array ids.")
    return ids
