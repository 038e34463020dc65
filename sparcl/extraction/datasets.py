"""Image data sets: which images there are, their labels and their split.

A reader (`READERS`) turns the layout of one data set into a `Listing`; where the files lie is the matter of `sources`.
"""

from __future__ import annotations

import csv
import hashlib
import io
import json
import os
import pickle
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from sparcl.base.errors import ConfigError, DatasetError
from sparcl.extraction import splits
from sparcl.extraction.sources import ArraySource, FolderSource, Source, open_source

if TYPE_CHECKING:
    from PIL import Image

SUFFIXES = (".png", ".jpg", ".jpeg", ".webp", ".bmp", ".gif", ".tif", ".tiff")
TRAIN_SHARE = 0.7  # of the two data sets that come without a split
TEST_SHARE = 0.2  # of a folder of images without train and test, unless its block says otherwise
BAD_IMAGE = ("fail", "skip")


class Sample(NamedTuple):
    """One image: `file` is its name in the source, `split` train, test, or empty where the layout has no split."""

    id: str
    file: str
    label: int
    split: str


@dataclass
class Listing:
    """What a reader finds.

    Attributes
    ----------
    class_names : list of str
    samples : in the order in which features are stored
    skipped : name to reason, of files that are no images of this data set
    source : where the images are read from, if not from where the reader looked
    """

    class_names: list[str]
    samples: list[Sample]
    skipped: dict[str, str] = field(default_factory=dict)
    source: Source | None = None


@dataclass
class ImageSplit:
    """The images of one split.

    Attributes
    ----------
    class_names : list of K str
    ids : list of n str, unique
    files : list of n str, the name of each image in `source`
    labels : (n,) int32 in 0..K-1
    source : where `image` reads from
    upright : turn by EXIF, scale 16 bits to 8 and lay transparency on white; otherwise `image` is as stored, which is
        what the field does with the published sets
    split_sha256 : hash of the list of this data set's split, empty where the layout itself is the split
    skipped : name to reason, of files that are no images of this data set
    """

    dataset: str
    split: str
    class_names: list[str]
    ids: list[str]
    files: list[str]
    labels: np.ndarray
    source: Source
    upright: bool = False
    split_sha256: str = ""
    skipped: dict[str, str] = field(default_factory=dict)

    def image(self, index: int) -> Image.Image:
        """Decode one image.

        Raises
        ------
        DatasetError : the file is damaged or no image
        """
        try:
            return self._decode(index)
        except (
            Exception
        ) as error:  # Pillow's decoders raise many kinds; none of them is the caller's
            raise DatasetError(
                f"{self.dataset}, {self.split}: cannot decode image {self.files[index]!r} ({_reason(error)}). The copy "
                "of the data set is damaged: fetch it again; or, in a set of your own, remove the file or write "
                "`on_bad_image: skip`."
            ) from error

    def fault(self, index: int) -> str:
        """Return why an image cannot be decoded, or nothing."""
        try:
            self._decode(index)
        except Exception as error:
            return _reason(error)
        return ""

    def _decode(self, index: int) -> Image.Image:
        from PIL import Image

        name = self.files[index]
        if isinstance(self.source, ArraySource):
            return Image.fromarray(self.source.pixels[name])
        content = self.source.read(name)
        if not content:
            raise ValueError("the file is empty")
        image = Image.open(io.BytesIO(content))
        image.load()
        return upright(image) if self.upright else image

    def stamps(self) -> list[tuple[int, int]]:
        """Size and modification time of every image."""
        return [self.source.stamp(name) for name in self.files]


def _reason(error: Exception) -> str:
    return " ".join(str(error).split()) or type(error).__name__


def upright(image: Image.Image) -> Image.Image:
    """Return an image as a viewer shows it: RGB, turned by EXIF, 16 bits scaled to 8, on white where transparent.

    Raises
    ------
    ValueError : pixels without a known range (floating point, 32 bits)
    """
    from PIL import Image, ImageOps

    image = ImageOps.exif_transpose(image)
    if image.mode.startswith("I"):
        values = np.asarray(image)
        if values.min() < 0 or values.max() > 65535:
            raise ValueError("pixels of more than 16 bits, of unknown range")
        image = Image.fromarray(np.round(values / 257).astype(np.uint8))
    if image.mode == "F":
        raise ValueError("floating-point pixels of unknown range")
    if image.has_transparency_data:
        image = image.convert("RGBA")
        image = Image.alpha_composite(Image.new("RGBA", image.size, "white"), image)
    return image.convert("RGB")


def open_split(
    dataset: str,
    block: dict[str, Any],
    split: str,
    root: str = "",
    cache: str = "",
    split_list: str | os.PathLike[str] = "",
) -> ImageSplit:
    """Find the images of one split of a data set.

    Parameters
    ----------
    dataset : its id
    block : its block in params.yaml: reader, and what `sources.open_source` and `split_of` read there
    split : train or test
    root : folder that holds `folder` or `archive`; by default $SPARCL_DATA
    cache : folder of downloads, see `weights.cache_folder`
    split_list : file that says which image is in which split (see `splits`); by default as `split_of` finds

    Raises
    ------
    DatasetError : images missing, of another layout, or of other counts than params.yaml states
    ConfigError : unknown reader, split or setting
    """
    if split not in splits.SPLITS:
        raise ConfigError(f"Split {split!r} of {dataset} is unknown; allowed: train, test.")
    listing, source = _listing(dataset, block, root, cache)
    assigned = split_of(dataset, block, listing, split_list)
    samples = [sample for sample in listing.samples if assigned.get(sample.id) == split]
    return ImageSplit(
        dataset=dataset,
        split=split,
        class_names=listing.class_names,
        ids=[sample.id for sample in samples],
        files=[sample.file for sample in samples],
        labels=np.array([sample.label for sample in samples], dtype=np.int32),
        source=source,
        upright=block["reader"] == "folder",
        split_sha256=splits.sha256(assigned) if how_split(block) != "own" else "",
        skipped=listing.skipped,
    )


def find_split(
    dataset: str, block: dict[str, Any], root: str = "", cache: str = ""
) -> dict[str, str]:
    """Return the split (id to train or test) of a data set as `open_split` finds it, for a list to be written."""
    listing, _ = _listing(dataset, block, root, cache)
    return split_of(dataset, block, listing)


def how_split(block: dict[str, Any]) -> str:
    """Return what `split` of a data set's block says: ``own``, ``draw`` or the path of a list."""
    return block.get("split", "draw" if block.get("reader") == "folder" else "own")


def split_of(
    dataset: str,
    block: dict[str, Any],
    listing: Listing,
    split_list: str | os.PathLike[str] = "",
) -> dict[str, str]:
    """Return the split of each image, by id.

    A list decides if there is one. Without, ``own`` takes the layout's split. ``draw`` does too where the images lie
    in train/ and test/ folders (somebody has drawn already), and draws otherwise (`splits.draw`) as many test images
    as `counts` states, by default the share `test_share`.

    Raises
    ------
    DatasetError : no split to be had, a list that names unknown images, other counts than params.yaml states
    """
    how, counts = how_split(block), block.get("counts", {})
    split_list = split_list or (how if how not in ("own", "draw") else "")
    if split_list:
        assigned = splits.read(split_list)
        known = {sample.id for sample in listing.samples}
        unknown = [identifier for identifier in assigned if identifier not in known]
        if unknown:
            raise DatasetError(
                f"{dataset}: {len(unknown)} images of the split list {Path(split_list).name} are not there, first "
                f"{unknown[0]!r}. An id looks like {next(iter(sorted(known)), '')!r}. Correct the list, or complete "
                "the data set."
            )
    elif how == "own" or _in_folders(listing):
        assigned = {sample.id: sample.split for sample in listing.samples}
    else:
        pools: list[list[str]] = [[] for _ in listing.class_names]
        for sample in listing.samples:
            pools[sample.label].append(sample.id)
        share = block.get("test_share", TEST_SHARE)
        assigned = splits.draw(pools, counts.get("test", round(share * len(listing.samples))))
    found = {split: list(assigned.values()).count(split) for split in splits.SPLITS}
    if any(found[key] != counts[key] for key in counts) or (
        len(listing.class_names) != block.get("classes", len(listing.class_names))
    ):
        raise DatasetError(
            f"{dataset}: found {len(listing.class_names)} classes and {found} images, params.yaml states "
            f"{block.get('classes', 'any number')} and {counts}. The copy is incomplete or another version: "
            "fetch it again, or correct the counts of a data set of your own."
        )
    if not all(found.values()):
        raise DatasetError(
            f"{dataset}: found {found} images, but both splits need some. Add images, or state `split: draw` or a "
            "split list in params.yaml."
        )
    return assigned


def _in_folders(listing: Listing) -> bool:
    return all(
        sample.file.split("/")[0] == sample.split or sample.file.startswith("val/")
        for sample in listing.samples
    )


def _listing(dataset: str, block: dict[str, Any], root: str, cache: str) -> tuple[Listing, Source]:
    reader = block["reader"]
    if reader not in READERS:
        raise ConfigError(
            f"Reader {reader!r} of {dataset} is unknown; allowed: {', '.join(READERS)}."
        )
    if block.get("on_bad_image", "fail") not in BAD_IMAGE:
        raise ConfigError(
            f"on_bad_image {block['on_bad_image']!r} of {dataset} is unknown; allowed: {', '.join(BAD_IMAGE)}."
        )
    source = DigitsSource() if reader == "digits" else open_source(dataset, block, root, cache)
    try:
        listing = READERS[reader](source, block)
    except (KeyError, ValueError, IndexError, UnicodeDecodeError, pickle.UnpicklingError) as error:
        raise DatasetError(
            f"{dataset}: the files have not the layout of reader {reader!r} ({type(error).__name__}: {error}). "
            "docs/data.md shows the layout of every reader: compare, or choose another reader."
        ) from error
    listing.skipped = source.skipped | listing.skipped
    return listing, listing.source or source


def folder_stamp(block: dict[str, Any]) -> str:
    """Return a hash of the names, sizes and times of a `folder` data set's files, so that new images are noticed.

    Empty for other readers, whose sets do not change, and where the folder is not there.
    """
    root = Path(block.get("root", "")).expanduser()
    if block["reader"] != "folder" or not block.get("root") or not root.is_dir():
        return ""
    source = FolderSource(root / block.get("folder", ""))
    files = [[name, *source.stamp(name)] for name in source.names()]
    return hashlib.sha256(json.dumps(files).encode()).hexdigest()


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
        self.skipped: dict[str, str] = {}

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


def _own(classes: list[str], train: list[tuple[str, int]], test: list[tuple[str, int]]) -> Listing:
    """Return the listing of a layout that has a split, from (file, label) pairs; the file's name is the id."""
    pairs = {"train": train, "test": test}
    samples = [Sample(n, n, label, split) for split in splits.SPLITS for n, label in pairs[split]]
    return Listing(classes, samples)


def _is_split(names: list[str]) -> bool:
    """Whether images lie as ``{train,test}/<class>/...`` or ``{train,val}/<class>/...``."""
    parts = [name.split("/") for name in names]
    tops = {part[0] for part in parts if len(part) >= 3}
    loose = {part[0] for part in parts if len(part) < 3}
    return {"train"} < tops <= {"train", "val", "test"} and loose <= {"val", "test"}


def read_folders(source: Source, block: dict[str, Any]) -> Listing:
    """``{train,test}/<class>/<file>``; classes in alphabetical order."""
    samples: dict[str, list[tuple[str, str]]] = {"train": [], "test": []}
    for name in _images(source):
        split, folder, _ = name.split("/")
        samples[split].append((name, folder))
    classes = sorted({folder for _, folder in samples["train"]})
    label = {folder: number for number, folder in enumerate(classes)}
    return _own(classes, *([(n, label[c]) for n, c in samples[s]] for s in splits.SPLITS))


def read_classes(source: Source, block: dict[str, Any]) -> Listing:
    """``<class>/<file>``, or the same below train/ and test/ (or val/, as in ImageNet); classes in alphabetical order.

    Ids are ``<class>/<file>`` either way. `class_list` of the block names the classes that belong to the set, all if
    left out. A folder test/ without class folders (ImageNet's) is not looked at; val/ beside a test/ is for training.
    """
    return _classes(source, block, keep_prefix=False)


def read_any_folder(source: Source, block: dict[str, Any]) -> Listing:
    """Anybody's own images, laid out as in `read_classes` or deeper; ids are the files' names below the root."""
    return _classes(source, block, keep_prefix=True)


def _classes(source: Source, block: dict[str, Any], keep_prefix: bool) -> Listing:
    names = [name for name in _images(source) if not PurePosixPath(name).name.startswith(".")]
    skipped = {name: "no image by its name" for name in set(source.names()) - set(names)}
    split = _is_split(names)
    depth = 1 if split else 0
    skipped |= {name: "in no class folder" for name in names if name.count("/") <= depth}
    names = [name for name in names if name.count("/") > depth]
    found = {name.split("/")[depth] for name in names}
    classes = sorted(block.get("class_list") or found)
    if missing := [name for name in classes if name not in found]:
        raise ValueError(f"{len(missing)} of {len(classes)} classes have no image: {missing[0]}")
    label = {name: number for number, name in enumerate(classes)}
    test = "test" if any(name.startswith("test/") for name in names) else "val"
    samples = []
    for name in names:
        parts = name.split("/")
        if parts[depth] in label:
            part = ("test" if parts[0] == test else "train") if split else ""
            identifier = name if keep_prefix else "/".join(parts[depth:])
            samples.append(Sample(identifier, name, label[parts[depth]], part))
    twice = len(samples) - len({sample.id for sample in samples})
    if twice:
        raise ValueError(f"{twice} images of a class have the same name in two splits")
    return Listing(classes, sorted(samples), skipped)


CIFAR_GLOBALS = {
    ("numpy.core.multiarray", "_reconstruct"): np.empty(0).__reduce__()[0],
    ("numpy", "ndarray"): np.ndarray,
    ("numpy", "dtype"): np.dtype,
}


class _CifarUnpickler(pickle.Unpickler):
    """Admits numpy arrays beside Python's plain types, which is all that CIFAR-100's files hold."""

    def find_class(self, module: str, name: str) -> Any:
        if (module, name) not in CIFAR_GLOBALS:
            raise pickle.UnpicklingError(f"the pickle asks for {module}.{name}; refused")
        return CIFAR_GLOBALS[module, name]


def read_cifar100(source: Source, block: dict[str, Any]) -> Listing:
    """CIFAR-100 as published (pickles ``train``, ``test``, ``meta``), or as PNG in ``{train,test}/<class>/``.

    Ids are ``<split>/<class>/<file>`` with the file names that the pickles hold, sorted. A name that a class has
    twice gets ``~2``, ``~3``, ... before its suffix.
    """
    if "meta" not in source.names():
        return read_folders(source, block)

    def load(name: str) -> dict[bytes, Any]:
        content = _CifarUnpickler(io.BytesIO(source.read(name)), encoding="bytes").load()
        if not isinstance(content, dict):
            raise ValueError(f"{name} holds no dictionary")
        return content

    classes = [name.decode("utf-8") for name in load("meta")[b"fine_label_names"]]
    pixels: dict[str, np.ndarray] = {}
    samples = []
    for split in splits.SPLITS:
        content = load(split)
        labels, files = content[b"fine_labels"], content[b"filenames"]
        data = np.asarray(content[b"data"])
        if data.dtype != np.uint8 or data.shape != (len(labels), 3072) or len(files) != len(labels):
            raise ValueError(f"{split}: pixels {data.dtype} {data.shape} for {len(labels)} labels")
        images = data.reshape(-1, 3, 32, 32).transpose(0, 2, 3, 1)
        for image, label, file in zip(images, labels, files, strict=True):
            base = PurePosixPath(split, classes[label], file.decode("utf-8"))
            name, number = base.as_posix(), 2
            while name in pixels:
                name, number = f"{base.with_suffix('')}~{number}{base.suffix}", number + 1
            pixels[name] = image
            samples.append(Sample(name, name, label, split))
    order = sorted(samples, key=lambda s: (s.split == "test", s.id))
    return Listing(classes, order, source=ArraySource(pixels))


def read_cub(source: Source, block: dict[str, Any]) -> Listing:
    """CUB-200-2011 as published, with its official split, or as ``{train,test}/<class>/<file>`` with that one.

    Ids are ``images/<class>/<file>`` either way. Class numbers, less one, are the labels.
    """
    if "images.txt" not in source.names() and _is_split(_images(source)):
        listing = _classes(source, block, keep_prefix=False)
        listing.samples = [s._replace(id=f"images/{s.id}") for s in listing.samples]
        return listing

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
    samples: list[Sample] = []
    for image, path in table("images.txt"):
        name = f"images/{path}"
        if name not in present:
            raise ValueError(f"image {path} of images.txt is missing")
        samples.append(Sample(name, name, label[image], ("test", "train")[training[image]]))
    return Listing([name for _, name in classes], samples)


def read_grocery(source: Source, block: dict[str, Any]) -> Listing:
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

    return _own(
        [names[i] for i in range(len(names))], samples("train") + samples("val"), samples("test")
    )


def photo_id(name: str) -> str:
    """Return the photo that a sketch ``<category>/<wnid>_<photo>-<k>.png`` was drawn from."""
    stem, dash, _ = PurePosixPath(name).stem.rpartition("-")
    if not dash:
        raise ValueError(f"{name} has no -k after the photo id")
    return stem


def read_sketchy(source: Source, block: dict[str, Any]) -> Listing:
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
    return _own(classes, train, test)


def read_digits(source: Source, block: dict[str, Any]) -> Listing:
    """scikit-learn's digits: of each digit the first 70% (rounded) in the order of the data set are for training."""
    classes, files = _by_class(source.names())
    train: list[tuple[str, int]] = []
    test: list[tuple[str, int]] = []
    for label, digit in enumerate(classes):
        m = round(TRAIN_SHARE * len(files[digit]))
        train += [(name, label) for name in files[digit][:m]]
        test += [(name, label) for name in files[digit][m:]]
    return _own(classes, train, test)


READERS: dict[str, Callable[[Source, dict[str, Any]], Listing]] = {
    "folders": read_folders,
    "classes": read_classes,
    "folder": read_any_folder,
    "cifar-100": read_cifar100,
    "cub": read_cub,
    "sketchy": read_sketchy,
    "grocery": read_grocery,
    "digits": read_digits,
}
