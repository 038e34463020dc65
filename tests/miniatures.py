"""Small copies of published archives in their exact layouts."""

import hashlib
import io
import pickle
import tarfile
from pathlib import Path
from typing import ClassVar

import numpy as np
from PIL import Image


class Python2Pickler(pickle._Pickler):
    """Pickles bytes as Python 2 did its strings, which is how CIFAR-100 was written."""

    dispatch: ClassVar = dict(pickle._Pickler.dispatch)

    def save_bytes(self, value: bytes) -> None:
        if len(value) < 256:
            self.write(b"U" + bytes([len(value)]) + value)
        else:
            self.write(b"T" + len(value).to_bytes(4, "little") + value)
        self.memoize(value)

    dispatch[bytes] = save_bytes


def python2_pickle(content: object) -> bytes:
    stream = io.BytesIO()
    Python2Pickler(stream, protocol=2).dump(content)
    return stream.getvalue().replace(b"cnumpy._core.multiarray\n", b"cnumpy.core.multiarray\n")


def jpeg(seed: int, size: tuple[int, int] = (40, 30)) -> bytes:
    coarse = np.random.default_rng(seed).integers(0, 256, (4, 4, 3), dtype=np.uint8)
    stream = io.BytesIO()
    Image.fromarray(coarse).resize(size).save(stream, format="jpeg")
    return stream.getvalue()


def cifar100(names: list[str], train: int, test: int) -> dict[str, bytes]:
    """Return the members of cifar-100-python.tar.gz, with classes `names` and so many images of each."""
    members = {"file.txt~": b""}
    for seed, (split, number) in enumerate((("train", train), ("test", test))):
        labels = [i % len(names) for i in range(number * len(names))]
        data = np.random.default_rng(seed).integers(0, 256, (len(labels), 3072), dtype=np.uint8)
        files = [f"{names[c]}_s_{i:06d}.png".encode() for i, c in enumerate(labels)]
        content = {
            b"filenames": files,
            b"batch_label": f"{split}ing batch 1 of 1".encode(),
            b"fine_labels": labels,
            b"coarse_labels": [0] * len(labels),
            b"data": data,
        }
        members[split] = python2_pickle(content)
    meta = {b"fine_label_names": [n.encode() for n in names], b"coarse_label_names": [b"all"]}
    return members | {"meta": python2_pickle(meta)}


def cub(classes: int, images: int, official_train: int) -> dict[str, bytes]:
    """Return the members of CUB_200_2011/ with so many images a class, the first ones for training."""
    names = [f"{c:03d}.Bird_{c}" for c in range(1, classes + 1)]
    paths = [f"{name}/{name[4:]}_{i:04d}_{i}.jpg" for name in names for i in range(images)]
    flags = [int(n % images < official_train) for n in range(len(paths))]
    lists = {
        "images.txt": [f"{n} {path}" for n, path in enumerate(paths, 1)],
        "classes.txt": [f"{n} {name}" for n, name in enumerate(names, 1)],
        "image_class_labels.txt": [f"{n + 1} {n // images + 1}" for n in range(len(paths))],
        "train_test_split.txt": [f"{n} {flag}" for n, flag in enumerate(flags, 1)],
        "bounding_boxes.txt": [f"{n} 1.0 1.0 9.0 9.0" for n in range(1, len(paths) + 1)],
        "README": ["Caltech-UCSD Birds 200-2011"],
    }
    members = {name: ("\n".join(lines) + "\n").encode() for name, lines in lists.items()}
    return members | {f"images/{path}": jpeg(n) for n, path in enumerate(paths)}


def imagenet_r(wnids: list[str], images: int) -> dict[str, bytes]:
    """Return the members of imagenet-r/: styles are part of the names."""
    styles = ("art", "cartoon", "sketch", "toy")
    members = {"README.txt": b"n01443537 goldfish\n"}
    for c, wnid in enumerate(wnids):
        for i in range(images):
            members[f"{wnid}/{styles[i % 4]}_{i}.jpg"] = jpeg(100 * c + i)
    return members


def imagenet_a(wnids: list[str], sizes: list[int]) -> dict[str, bytes]:
    """Return the members of imagenet-a/: a wrong class and its probability are part of the names."""
    members = {"README.txt": b"n01498041 stingray\n"}
    for c, (wnid, size) in enumerate(zip(wnids, sizes, strict=True)):
        for i in range(size):
            members[f"{wnid}/0.00{i:04d}_digital clock _ toaster_0.{i:06d}.jpg"] = jpeg(300 * c + i)
    return members


def unpack(folder: Path, members: dict[str, bytes]) -> None:
    for name, content in members.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)


def pack(path: Path, folder: str, members: dict[str, bytes]) -> str:
    """Write a tar (gzipped if the name says so) whose members lie below `folder`, and return its md5."""
    mode = "w:gz" if path.name.endswith(("gz", "tgz")) else "w"
    path.parent.mkdir(parents=True, exist_ok=True)
    with tarfile.open(path, mode) as tar:
        if folder == "CUB_200_2011":  # lies beside the folder in the real archive
            tar.addfile(tarfile.TarInfo("attributes.txt"))
        directory = tarfile.TarInfo(folder)
        directory.type = tarfile.DIRTYPE
        tar.addfile(directory)
        for name, content in members.items():
            member = tarfile.TarInfo(f"{folder}/{name}")
            member.size = len(content)
            tar.addfile(member, io.BytesIO(content))
    return hashlib.md5(path.read_bytes()).hexdigest()
