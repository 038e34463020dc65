"""Sums of feature files, by class or by session, in npz files that add up (`merging`)."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import NDArray

from sparcl.app.bars import shown
from sparcl.app.counted import Counted, check_once, names_of
from sparcl.app.kinds import SUMS, opened
from sparcl.base.errors import InputError
from sparcl.base.npz import write_npz
from sparcl.base.rows import NORMALISATION, prepared
from sparcl.base.state import pack, unpack
from sparcl.features import hdf5, layout, matching, store
from study import pairs
from study.sums.class_sums import ClassSums

KIND = "sums of classes, 1"
CARD = {
    "kind": Literal[KIND],
    "terms": pairs.ORIGIN | {"split": str, "normalisation": Literal[*NORMALISATION.values()]},
    "class_names": list[str],
    "parts": list[tuple[str, str, str]],
}


@dataclass
class SumsFile:
    """The sums of one or several feature files, all that a learner needs whose state is a sum over samples.

    Attributes
    ----------
    sums : labels are positions in ``class_names``
    terms : what shards must have in common: split, normalisation and :func:`pairs.origin`
    class_names : K names
    ids : (n,) bytes, ascending, each once: no sample counts twice
    parts : the hashes of features, labels and ids of each file that was summed, ascending
    """

    sums: ClassSums
    terms: dict[str, Any]
    class_names: list[str]
    ids: NDArray[np.bytes_]
    parts: list[list[str]]

    @classmethod
    def of_file(
        cls,
        path: str | Path,
        normalize: bool = True,
        sessions: Sequence[Sequence[int] | NDArray[np.integer]] | None = None,
        manifest: str | Path | None = None,
    ) -> Self:
        """Sum one feature file: one pass in blocks of ``store.ROWS``; n d^2 flops at most.

        Memory holds a block, the sums (:class:`study.sums.class_sums.ClassSums`) and the ids.

        Parameters
        ----------
        path : feature file, perhaps a shard
        normalize : divide rows by their norms first
        sessions : classes of each session of one class order, to keep second moments by session; by
            default they are kept by class
        manifest : of the file; by default the one beside it

        Raises
        ------
        FeatureFileError
            When the file is missing, damaged or not what its manifest says.
        InputError
            When the sessions are not the file's classes, each once.
        """
        header = store.header(path, manifest)
        classes = len(header.class_names)
        groups = None if sessions is None else _groups(path, classes, sessions)
        sums = ClassSums(header.d, classes, groups)
        blocks = store.blocks(path, manifest_file=manifest)
        for Phi, y in shown(blocks, header.n, Path(path).name):
            sums.accumulate(prepared(Phi, normalize), y)
        parts = [[header.meta[f"{array}_sha256"] for array in ("features", "labels", "ids")]]
        ids = np.sort(store.ids(path, manifest))
        return cls(sums, terms(header, normalize), header.class_names, ids, parts)

    @property
    def normalize(self) -> bool:
        """Whether rows were divided by their norms."""
        return self.terms["normalisation"] == NORMALISATION[True]

    def described(self, path: Path) -> str:
        """Return one line that says what was saved at `path`."""
        classes = np.count_nonzero(self.sums.counts)
        return f"{path}: {len(self.ids)} samples of {classes} classes, {self.sums.d} features"

    def save(self, path: str | Path) -> None:
        """Write an npz file, whole or not at all; equal sums give equal bytes."""
        card = {
            "kind": KIND,
            "terms": self.terms,
            "class_names": self.class_names,
            "parts": self.parts,
        }
        content = {"card": json.dumps(card, sort_keys=True), "ids": self.ids} | pack(self.sums)
        write_npz(path, content)

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Read what :meth:`save` wrote, no pickle; InputError when the file is not that."""
        with opened(path, SUMS, CARD) as (card, state):
            ids, own = state.pop("ids"), card["terms"]
            sums = unpack(state)
            if not isinstance(sums, ClassSums):
                raise ValueError(f"the state of {type(sums).__name__}")
            if len(ids) != sums.counts.sum() or len({*card["class_names"]}) != sums.classes:
                raise ValueError("samples, ids and class names differ in number")
            if own["features"] != sums.d:
                raise ValueError(f"features {own['features']}, and sums of {sums.d}")
            return cls(sums, own, card["class_names"], Counted(ids).names, card["parts"])

    def rows(self, paths: Sequence[str | Path]) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        """Return features (n, d), prepared as those summed were, and labels (n,) of feature files.

        Raises
        ------
        SparclError
            When a file is damaged, :meth:`check_test` refuses it, or a class has no sample.
        """
        check_once(paths)
        counted = Counted()
        rows, labels = [], []
        for path in paths:
            self.check_test(path)
            header = store.header(path)
            counted.add(names_of(path, header), str(path))
            for features, own in shown(store.blocks(path), header.n, Path(path).name):
                rows.append(prepared(features, self.normalize))
                labels.append(own)
        Phi, y = np.concatenate(rows), np.concatenate(labels).astype(np.int64)
        missing = np.setdiff1d(np.arange(self.sums.classes), y)
        if len(missing):
            raise InputError(
                f"{', '.join(map(str, paths))}: class {self.class_names[missing[0]]!r} has no sample "
                f"({len(missing)} such classes): no accuracy can count it."
            )
        return Phi, y

    def check_test(self, path: str | Path, manifest: str | Path | None = None) -> None:
        """Raise InputError unless a feature file is of this data set and holds no sample that was summed."""
        header = store.header(path, manifest)
        own = terms(header, self.normalize) | {"split": self.terms["split"]}
        self.agree(str(path), own, header.class_names)
        known = np.intersect1d(store.ids(path, manifest), self.ids)
        if len(known):
            raise InputError(
                f"{path}: {len(known)} of its samples are in the sums (first: {known[0].decode(errors='replace')!r}). "
                "A test on what was learned measures nothing: give the test split."
            )
        digest = header.meta["features_sha256"]
        if digest in (features for features, *_ in self.parts):
            raise InputError(
                f"{path}: its features (sha256 {digest[:12]}) are those of a file that was summed, under "
                "other ids. A test on what was learned measures nothing: give the test split."
            )

    def complete(self, path: str | Path, manifest: str | Path | None = None) -> None:
        """Raise InputError unless these are the sums of a feature file, or of all shards of a view."""
        header = store.header(path, manifest)
        self.agree(str(path), terms(header, self.normalize), header.class_names)
        wanted = store.ids(path, manifest)
        missing, foreign = np.setdiff1d(wanted, self.ids), np.setdiff1d(self.ids, wanted)
        if len(missing) or len(foreign):
            first = next(iter([*missing, *foreign])).decode(errors="replace")
            raise InputError(
                f"{path}: its {len(wanted)} samples are not the {len(self.ids)} that were summed: {len(missing)} are "
                f"missing and {len(foreign)} are others (first: {first!r}). Usual cause: a shard that was left out, or "
                "sums of an older extraction; delete the sums and run snakemake."
            )
        if self.parts != sorted(parts_of(path, manifest)):
            raise InputError(
                f"{path}: its samples were summed, but with other features or labels, or cut in another way. Usual "
                "cause: a shard that was changed after the merge; merge the shards again, then delete the sums."
            )

    def agree(self, where: str, given: Mapping[str, Any], class_names: Sequence[str]) -> None:
        """Raise InputError, naming the difference, unless terms and class list are these sums'."""
        its = {name: given.get(name) for name in self.terms} | pairs.named(class_names)
        if found := matching.difference(its, self.terms | pairs.named(self.class_names)):
            name, value, own = found
            raise InputError(
                f"{where}: {name} is {value!r}, but {own!r} in the sums before it. Sums add up, and scores make sense, "
                "only where both are the same: extract all from one data set, in one way."
            )


def terms(header: layout.Header, normalize: bool) -> dict[str, Any]:
    """Return what sums of a feature file must have in common with others, as JSON gives it back."""
    own = {"split": header.meta["split"], "normalisation": NORMALISATION[normalize]}
    return json.loads(json.dumps(pairs.origin(header) | own))


def _groups(
    path: str | Path, classes: int, sessions: Sequence[Sequence[int] | NDArray[np.integer]]
) -> NDArray[np.int64]:
    """Return the session of each class."""
    order = np.array([label for session in sessions for label in session], dtype=np.int64)
    if not np.array_equal(np.sort(order), np.arange(classes)):
        raise InputError(
            f"{path}: the sessions name {len(order)} classes, {len(np.unique(order))} different ones, the file has "
            f"0..{classes - 1}. They must name each once: was the class order made for another data set?"
        )
    groups = np.empty(classes, dtype=np.int64)
    groups[order] = np.repeat(np.arange(len(sessions)), [len(session) for session in sessions])
    return groups


def parts_of(path: str | Path, manifest: str | Path | None) -> list[list[str]]:
    """Return the hashes of features, labels and ids of every shard of a view when it was made, or of a plain file.

    Raises
    ------
    FeatureFileError : as `store.header`
    """
    meta = store.header(path, manifest).meta
    with hdf5.opened(Path(path)) as (file, _, _):
        if "parts" not in file.attrs:
            return [[meta[f"{array}_sha256"] for array in layout.REQUIRED_ARRAYS]]
        return json.loads(file.attrs["parts"])
