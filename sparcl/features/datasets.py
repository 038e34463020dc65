"""Image data sets: which images there are, their labels and their split.

Images lie in a folder or in an uncompressed tar archive, which is read in place: nothing is unpacked, so no
member can leave its folder. A reader (`READERS`) turns the layout of one data set into a `Listing`.
"""

from __future__ import annotations

import csv
import io
import os
import tarfile
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from sparcl.errors import ConfigError, DatasetError

if TYPE_CHECKING:
    from PIL import Image

SUFFIXES = (".png", ".jpg", ".jpeg", ".webp", ".bmp")
TRAIN_SHARE = 0.7  # of the two data sets that come without a split


class Source(Protocol):
    """Named files of one data set, however they are stored. Safe to read from several threads."""

    def names(self) -> list[str]:
        """Relative POSIX names of all regular files, sorted."""

    def read(self, name: str) -> bytes:
        """Content of one file."""

    def stamp(self, name: str) -> tuple[int, int]:
        """Size and modification time, to notice a changed file."""


@dataclass
class Listing:
    """What a reader finds: class names, and (file name, label) pairs of each split in a fixed order."""

    class_names: list[str]
    train: list[tuple[str, int]]
    test: list[tuple[str, int]]


@dataclass
class ImageSplit:
    """The images of one split.

    Attributes
    ----------
    class_names : list of K str
    ids : list of n str, unique, the file names relative to the data set's folder
    labels : (n,) int32 in 0..K-1
    source : where `image` reads from
    """

    dataset: str
    split: str
    class_names: list[str]
    ids: list[str]
    labels: np.ndarray
    source: Source

    def image(self, index: int) -> Image.Image:
        """Decode one image.

        Raises
        ------
        DatasetError : the file is damaged or no image
        """
        from PIL import Image

        name = self.ids[index]
        try:
            image = Image.open(io.BytesIO(self.source.read(name)))
            image.load()
        except (OSError, ValueError, SyntaxError, Image.DecompressionBombError) as error:
            raise DatasetError(
                f"{self.dataset}, {self.split}: cannot decode image {name!r} ({error}). "
                "The copy of the data set is damaged: fetch it again."
            ) from error
        return image

    def stamps(self) -> list[tuple[int, int]]:
        """Size and modification time of every image."""
        return [self.source.stamp(name) for name in self.ids]


def open_split(dataset: str, block: dict[str, Any], split: str, root: str = "") -> ImageSplit:
    """Find the images of one split of a data set.

    Parameters
    ----------
    dataset : its id
    block : its block in params.yaml: reader, folder, archive, classes, counts
    split : train or test
    root : folder that holds `folder` or `archive`; by default $SPARCL_DATA

    Raises
    ------
    DatasetError : images missing, of another layout, or of other counts than params.yaml states
    ConfigError : unknown reader or split
    """
    reader, source = block["reader"], None
    if reader not in READERS:
        raise ConfigError(
            f"Reader {reader!r} of {dataset} is unknown; allowed: {', '.join(READERS)}."
        )
    if split not in ("train", "test"):
        raise ConfigError(f"Split {split!r} of {dataset} is unknown; allowed: train, test.")
    source = DigitsSource() if reader == "digits" else _open_source(dataset, block, root)
    try:
        listing = READERS[reader](source)
    except (KeyError, ValueError, IndexError, UnicodeDecodeError) as error:
        raise DatasetError(
            f"{dataset}: the files have not the layout of reader {reader!r} ({type(error).__name__}: {error}). "
            "Compare with the data set's card in data/features, or choose another reader."
        ) from error
    found = {"train": len(listing.train), "test": len(listing.test)}
    if found != block["counts"] or len(listing.class_names) != block["classes"]:
        raise DatasetError(
            f"{dataset}: found {len(listing.class_names)} classes and {found} images, params.yaml states "
            f"{block['classes']} and {block['counts']}. The copy is incomplete or another version: "
            "fetch it again, or correct the counts of a data set of your own."
        )
    samples = getattr(listing, split)
    labels = np.array([label for _, label in samples], dtype=np.int32)
    return ImageSplit(
        dataset, split, listing.class_names, [name for name, _ in samples], labels, source
    )


def _open_source(dataset: str, block: dict[str, Any], root: str) -> Source:
    base = root or os.environ.get("SPARCL_DATA", "")
    remedy = (
        f"Put {block['folder']}/ (a folder) or {block['archive']} (an uncompressed tar) into one folder and name that "
        "folder in the environment variable SPARCL_DATA or in extraction.image_root of params.yaml; or use the "
        f"bundled features (datasets.{dataset}.features: bundle)."
    )
    if not base:
        raise DatasetError(f"{dataset}: nothing says where its images are. {remedy}")
    folder = Path(base).expanduser() / block["folder"]
    archive = Path(base).expanduser() / block["archive"]
    if folder.is_dir():
        return FolderSource(folder)
    if archive.is_file():
        return TarSource(archive, block["folder"])
    raise DatasetError(f"{dataset}: neither {folder} nor {archive} exists. {remedy}")


class FolderSource:
    """Files below a folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def names(self) -> list[str]:
        """See `Source`."""
        return sorted(
            (Path(base) / file).relative_to(self.folder).as_posix()
            for base, _, files in os.walk(self.folder)
            for file in files
        )

    def read(self, name: str) -> bytes:
        """See `Source`."""
        path = self.folder / name
        if ".." in PurePosixPath(name).parts or not path.is_file():
            raise DatasetError(
                f"{self.folder}: file {name!r} is listed but missing; fetch the data set again."
            )
        return path.read_bytes()

    def stamp(self, name: str) -> tuple[int, int]:
        """See `Source`."""
        info = (self.folder / name).stat()
        return info.st_size, int(info.st_mtime)


class TarSource:
    """Members below one folder of an uncompressed tar archive, read where they lie.

    Raises
    ------
    DatasetError : compressed, truncated, or with a member that is a link, absolute or outside its folder
    """

    def __init__(self, archive: Path, folder: str) -> None:
        self.archive = archive
        self._members: dict[str, tuple[int, int, int]] = {}  # name: offset, size, mtime
        size = archive.stat().st_size
        try:
            with tarfile.open(archive, "r:") as tar:
                for member in tar:
                    self._add(member, folder, size)
        except tarfile.TarError as error:
            raise DatasetError(
                f"{archive}: not an uncompressed tar archive, or truncated ({error}). Fetch it again, or unpack "
                f"it so that {folder}/ lies beside it."
            ) from error
        self._file = os.open(archive, os.O_RDONLY)

    def __del__(self) -> None:
        if hasattr(self, "_file"):
            os.close(self._file)

    def _add(self, member: tarfile.TarInfo, folder: str, size: int) -> None:
        path = PurePosixPath(member.name)
        if path.is_absolute() or ".." in path.parts or not (member.isreg() or member.isdir()):
            raise DatasetError(
                f"{self.archive}: member {member.name!r} is a link, a device or leads out of its folder; refused. "
                "Fetch the archive from a source you trust."
            )
        if member.isdir() or path.parts[:1] != (folder,):
            return
        name = PurePosixPath(*path.parts[1:]).as_posix()
        if (
            member.sparse is not None
            or name in self._members
            or member.offset_data + member.size > size
        ):
            raise DatasetError(
                f"{self.archive}: member {member.name!r} is sparse, twice there or longer than the archive; "
                "fetch it again."
            )
        self._members[name] = (member.offset_data, member.size, int(member.mtime))

    def names(self) -> list[str]:
        """See `Source`."""
        return sorted(self._members)

    def read(self, name: str) -> bytes:
        """See `Source`."""
        if name not in self._members:
            raise DatasetError(
                f"{self.archive}: file {name!r} is listed but missing; fetch the archive again."
            )
        offset, size, _ = self._members[name]
        return os.pread(self._file, size, offset)

    def stamp(self, name: str) -> tuple[int, int]:
        """See `Source`."""
        _, size, mtime = self._members[name]
        return size, mtime


class DigitsSource:
    """The 8x8 digits inside scikit-learn's wheel, as PNG files ``<digit>/<position in the data set>.png``."""

    def __init__(self) -> None:
        from sklearn.datasets import load_digits

        digits = load_digits()
        self._pixels = {
            f"{label}/{position:04d}.png": np.round(image * (255 / 16)).astype(np.uint8)
            for position, (image, label) in enumerate(
                zip(digits.images, digits.target, strict=True)
            )
        }

    def names(self) -> list[str]:
        """See `Source`."""
        return sorted(self._pixels)

    def read(self, name: str) -> bytes:
        """See `Source`."""
        from PIL import Image

        stream = io.BytesIO()
        Image.fromarray(self._pixels[name]).save(stream, format="png")
        return stream.getvalue()

    def stamp(self, name: str) -> tuple[int, int]:
        """Size, and a checksum in place of a time."""
        pixels = self._pixels[name]
        return pixels.size, int(pixels.sum())


def _images(source: Source) -> list[str]:
    return [name for name in source.names() if PurePosixPath(name).suffix.lower() in SUFFIXES]


def _by_class(names: list[str]) -> tuple[list[str], dict[str, list[str]]]:
    """Sorted class names, and the sorted files of each, from ``<class>/<file>`` names."""
    files = defaultdict(list)
    for name in names:
        folder, _ = name.split("/")
        files[folder].append(name)
    return sorted(files), files


def read_folders(source: Source) -> Listing:
    """``{train,test}/<class>/<file>``; classes in alphabetical order."""
    samples: dict[str, list[tuple[str, str]]] = {"train": [], "test": []}
    for name in _images(source):
        split, folder, _ = name.split("/")
        samples[split].append((name, folder))
    classes = sorted({folder for _, folder in samples["train"]})
    label = {folder: number for number, folder in enumerate(classes)}
    return Listing(classes, *([(n, label[c]) for n, c in samples[s]] for s in ("train", "test")))


def read_cub(source: Source) -> Listing:
    """CUB-200-2011 as published, with its official split; class numbers, less one, are the labels."""

    def table(name: str) -> list[list[str]]:
        return [
            line.split(" ", 1) for line in source.read(name).decode("utf-8").splitlines() if line
        ]

    classes = table("classes.txt")
    if [int(number) for number, _ in classes] != list(range(1, len(classes) + 1)):
        raise ValueError("classes.txt is not numbered 1, 2, 3, ...")
    label = {image: int(number) - 1 for image, number in table("image_class_labels.txt")}
    training = {image: int(flag) for image, flag in table("train_test_split.txt")}
    present = set(source.names())
    samples: dict[int, list[tuple[str, int]]] = {0: [], 1: []}
    for image, path in table("images.txt"):
        if f"images/{path}" not in present:
            raise ValueError(f"image {path} of images.txt is missing")
        samples[training[image]].append((f"images/{path}", label[image]))
    return Listing([name for _, name in classes], samples[1], samples[0])


def read_grocery(source: Source) -> Listing:
    """Grocery Store with its lists: train and val are for training, the official test for testing; fine classes."""
    rows = list(csv.reader(io.StringIO(source.read("classes.csv").decode("utf-8"))))[1:]
    names = {int(row[1]): row[0] for row in rows}
    if sorted(names) != list(range(len(names))):
        raise ValueError("classes.csv is not numbered 0, 1, 2, ...")
    present = set(source.names())

    def samples(part: str) -> list[tuple[str, int]]:
        lines = source.read(f"{part}.txt").decode("utf-8").splitlines()
        pairs = [
            (path.strip(), int(fine))
            for path, fine, _ in (line.split(",") for line in lines if line)
        ]
        missing = [path for path, _ in pairs if path not in present]
        if missing:
            raise ValueError(f"image {missing[0]} of {part}.txt is missing")
        return pairs

    return Listing(
        [names[i] for i in range(len(names))], samples("train") + samples("val"), samples("test")
    )


def photo_id(name: str) -> str:
    """Return the photo that a sketch ``<category>/<wnid>_<photo>-<k>.png`` was drawn from."""
    stem, dash, _ = PurePosixPath(name).stem.rpartition("-")
    if not dash:
        raise ValueError(f"{name} has no -k after the photo id")
    return stem


def read_sketchy(source: Source) -> Listing:
    """``<category>/<wnid>_<photo>-<k>.png``, split by photo: several sketches show the same photo.

    In each category the photo ids are sorted, and the first m of them are for training, with the m that brings
    the number of training sketches closest to 70% (ties: the larger m; at least one photo on either side).
    """
    classes, files = _by_class(_images(source))
    train: list[tuple[str, int]] = []
    test: list[tuple[str, int]] = []
    for label, category in enumerate(classes):
        photos = defaultdict(list)
        for name in files[category]:
            photos[photo_id(name)].append(name)
        groups = [photos[photo] for photo in sorted(photos)]
        if len(groups) < 2:
            raise ValueError(
                f"category {category} has sketches of one photo only and cannot be split"
            )
        reached = np.cumsum([len(group) for group in groups])[:-1]
        distance = np.abs(reached - TRAIN_SHARE * len(files[category]))
        m = int(np.flatnonzero(distance == distance.min())[-1]) + 1
        for number, group in enumerate(groups):
            (train if number < m else test).extend((name, label) for name in group)
    return Listing(classes, train, test)


def read_digits(source: Source) -> Listing:
    """scikit-learn's digits: of each digit the first 70% (rounded) in the order of the data set are for training."""
    classes, files = _by_class(source.names())
    train: list[tuple[str, int]] = []
    test: list[tuple[str, int]] = []
    for label, digit in enumerate(classes):
        m = round(TRAIN_SHARE * len(files[digit]))
        train += [(name, label) for name in files[digit][:m]]
        test += [(name, label) for name in files[digit][m:]]
    return Listing(classes, train, test)


READERS: dict[str, Callable[[Source], Listing]] = {
    "folders": read_folders,
    "cub": read_cub,
    "sketchy": read_sketchy,
    "grocery": read_grocery,
    "digits": read_digits,
}
