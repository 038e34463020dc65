"""The inputs of a job on one method and data set, and its records: one for each class order of a suite."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any

from sparcl.base.errors import FeatureFileError
from sparcl.features import store
from sparcl.features.layout import KINDS, FeatureSet
from study import finished, methods, pairs
from study.loop.experiment import Split
from study.sealed import ORDER, RUN, read_sealed
from study.streams import splits


class Job:
    """Inputs of a job.

    Attributes
    ----------
    spec : settings of the rule
    names : wildcards of the rule
    """

    def __init__(self, snakemake: Any) -> None:
        self.spec: Mapping[str, Any] = snakemake.params.spec
        self.names = dict(snakemake.wildcards)
        self.input, self._params, self._output = snakemake.input, snakemake.params, snakemake.output

    @cached_property
    def data(self) -> dict[str, FeatureSet]:
        """Features by split, those that the rule names as ``train`` and ``test``.

        Raises
        ------
        InputError
            For a file of another place, or splits that do not belong together.
        """
        paths = {split: self.input.get(split) for split in ("train", "test")}
        paths = {split: path for split, path in paths.items() if path}
        data = {}
        for (split, path), manifest in zip(paths.items(), self.input.manifests, strict=True):
            data[split] = store.read(path, manifest)
            pairs.check_path(path, data[split].meta, self.names, split)
        if len(data) == 2:
            pairs.check_pair(paths["train"], data["train"], paths["test"], data["test"])
        return {
            split: using(read, self.spec.get("features", "last")) for split, read in data.items()
        }

    @cached_property
    def prepared(self) -> list[Split]:
        """The splits as every class order has them, unless the suite stresses its streams."""
        return splits(self.spec, [], *self.data.values())

    @property
    def device(self) -> str:
        """Where the method computes."""
        return self.spec.get("device", "cpu")

    def write(self, record: Callable[["Run"], Mapping[str, Any]]) -> None:
        """Write the record of each class order into the rule's folder; the finished ones are not computed again.

        Parameters
        ----------
        record : computes the record of a class order

        Raises
        ------
        Exception
            From ``record``; the message names the class order.
        """
        runs = {"-".join(of.values()): Run(self, of) for of in self._params.orders}
        told = [self._params.code, dict(self.spec), self.names]
        keys = {name: finished.key([*told, run.of], run.files) for name, run in runs.items()}

        def computed(name: str) -> Mapping[str, Any]:
            _ = self.data  # what is wrong with it is no fault of the class order
            with runs[name].named():
                return record(runs[name])

        finished.fill(self._output[0], keys, computed)


class Run:
    """One class order of a job.

    Attributes
    ----------
    job : of which it is a part
    of : number of the class order and, where there is one, of the seed, as text
    files : inputs that determine its record; those that hold features stand for them with their manifests
    """

    def __init__(self, job: Job, of: Mapping[str, str]) -> None:
        self.job, self.of, given = job, of, job.input
        by_name = {Path(path).stem: path for path in (*given.orders, *(given.get("sums") or ()))}
        self._order = by_name[of["order"]]
        self.sums = by_name.get(f"{job.names['suite']}-{of['order']}", by_name.get("classes"))
        selected = given.get("selection")
        self._selection = f"{selected}/{of['order']}-{of['seed']}.json" if selected else None
        own = (self._order, self._selection, self.sums, given.get("train_manifest"))
        self.files = [*given.manifests, *filter(None, own)]

    @cached_property
    def order(self) -> dict[str, Any]:
        """Content of the class order."""
        return read_sealed(self._order, ORDER)

    @property
    def names(self) -> dict[str, str]:
        """Names that a record has in its path."""
        return {**self.job.names, **self.of}

    @property
    def seed(self) -> int:
        """Of random projections and draws."""
        return int(self.of["seed"])

    @property
    def sessions(self) -> list[list[int]]:
        """Classes of each session."""
        return self.order["sessions"]

    @property
    def of_sample(self) -> Sequence[int] | None:
        """The session of each training sample, where an order file states samples."""
        return self.order.get("session_of_sample")

    @property
    def hyper(self) -> dict[str, Any]:
        """Settings of the learner: given, chosen, and its seed."""
        spec = self.job.spec
        chosen = read_sealed(self._selection, RUN)["chosen"] if self._selection else {}
        return methods.with_seed(spec["learner"], spec["hyper"] | chosen, self.seed)

    def splits(self) -> list[Split]:
        """Return the splits as the suite's learners see them."""
        job = self.job
        return (
            splits(job.spec, self.sessions, *job.data.values())
            if job.spec["stress"]
            else job.prepared
        )

    @contextmanager
    def named(self) -> Iterator[None]:
        """Name the class order in an error."""
        try:
            yield
        except Exception as error:
            said = ", ".join(f"{key} {number}" for key, number in self.of.items())
            error.args = (f"class {said}: {error}",)
            raise

    def record(self, result: Mapping[str, Any], **hashes: str) -> dict[str, Any]:
        """Return a run's result with its names and the hashes of what it was computed from."""
        data = self.job.data
        names = self.names | {"order": self.order["order"], "seed": self.seed}
        hashes |= {f"{split}_sha256": read.meta["features_sha256"] for split, read in data.items()}
        hashes |= {"order_sha256": self.order["sha256"]}
        if "train" in data:
            hashes["weights_sha256"] = data["train"].meta["weights_sha256"]
        return {**result, **names, "learner": self.job.spec["learner"], **hashes}


def using(data: FeatureSet, kind: str) -> FeatureSet:
    """Return features with those that a method reads in their place.

    Parameters
    ----------
    kind : ``last``, as they are; ``blocks``, the L blocks side by side (n, L d); ``blocks-mean`` (n, d)

    Returns
    -------
    FeatureSet : ``features_sha256`` is the hash of the array that the features come from

    Raises
    ------
    FeatureFileError : the kind is unknown, or the backbone kept no blocks
    """
    if kind not in KINDS:
        raise FeatureFileError(f"Features {kind!r} are unknown; allowed: {', '.join(KINDS)}.")
    array = getattr(data, KINDS[kind])
    if array is None:
        raise FeatureFileError(
            f"{data.meta['dataset']}, {data.meta['split']}: the features of {data.meta['backbone']} hold no "
            f"{KINDS[kind]}, but the method reads {kind!r}. Name `blocks` among the backbone's settings "
            "and extract again, or run the method on a backbone that keeps them."
        )
    sha256 = {"features_sha256": data.meta[f"{KINDS[kind]}_sha256"]}
    return replace(data, features=array.reshape(len(array), -1), meta=data.meta | sha256)
