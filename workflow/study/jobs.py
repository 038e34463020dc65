"""What a job on one method and class order reads, and the names and hashes of the record that it writes."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

from sparcl.features import matching, store
from sparcl.features.layout import FeatureSet
from sparcl.protocol.experiment import Split
from study import methods
from study.sealed import ORDER, RUN, read_sealed, write_sealed
from study.streams import splits


@dataclass(frozen=True)
class Job:
    """Inputs of a job, read and checked against its names and against each other.

    Attributes
    ----------
    spec : settings of the rule
    names : wildcards of the rule
    order : content of the class order
    data : features by split, those that the rule names as ``train`` and ``test``
    chosen : settings that a selection chose, if the rule names one
    """

    spec: Mapping[str, Any]
    names: dict[str, str]
    order: dict[str, Any]
    data: dict[str, FeatureSet]
    chosen: dict[str, Any]

    @classmethod
    def read(cls, snakemake: Any) -> Self:
        """Read what a rule names.

        Raises
        ------
        InputError
            For a file of another place, splits that do not belong together, or a changed order.
        """
        spec, names = snakemake.params.spec, dict(snakemake.wildcards)
        paths = {split: snakemake.input.get(split) for split in ("train", "test")}
        paths = {split: path for split, path in paths.items() if path}
        data = {}
        for (split, path), manifest in zip(paths.items(), snakemake.input.manifests, strict=True):
            data[split] = store.read(path, manifest)
            matching.check_path(path, data[split].meta, names, split)
        if len(data) == 2:
            matching.check_pair(paths["train"], data["train"], paths["test"], data["test"])
        data = {split: read.using(spec.get("features", "last")) for split, read in data.items()}
        order = read_sealed(snakemake.input.order, ORDER)
        selection = snakemake.input.get("selection")
        chosen = read_sealed(selection, RUN)["chosen"] if selection else {}
        return cls(spec, names, order, data, chosen)

    @property
    def seed(self) -> int:
        """Of random projections and draws."""
        return int(self.names["seed"])

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
        return methods.with_seed(self.spec["learner"], self.spec["hyper"] | self.chosen, self.seed)

    def splits(self) -> list[Split]:
        """Return the splits as the suite's learners see them."""
        return splits(self.spec, self.sessions, *self.data.values())

    def write(self, path: str, record: Mapping[str, Any], **hashes: str) -> None:
        """Write a record with the job's names and the hashes of what it was computed from."""
        names = self.names | {"order": self.order["order"], "seed": self.seed}
        hashes |= {f"{split}_sha256": d.meta["features_sha256"] for split, d in self.data.items()}
        hashes |= {"order_sha256": self.order["sha256"]}
        if "train" in self.data:
            hashes["weights_sha256"] = self.data["train"].meta["weights_sha256"]
        write_sealed(path, {**record, **names, "learner": self.spec["learner"], **hashes})
