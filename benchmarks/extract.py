"""How close extraction comes to the speed of the network alone, and whether GPU and CPU agree.

    python benchmarks/extract.py                      under five minutes; a GPU if there is one, else the CPU part
    python benchmarks/extract.py --device cpu --seconds 5

Prints a table in Markdown for docs/performance.md. Images are made here: 32-px arrays like CIFAR's, and 500-px JPEG
files. Rates are of steady state, after a warm-up. On a GPU the network is ViT-B/16 with
random weights (speed does not hang on them); on a CPU EfficientNet-Lite0. Agreement and accuracy use EfficientNet-Lite0
with its published weights on scikit-learn's digits; they are left out, and said to be, where the weights cannot be had.
"""

import argparse
import dataclasses
import io
import os
import platform
import tempfile
import time
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import timm
import torch
from PIL import Image
from torch.utils.data import DataLoader

from sparcl.base.errors import SparclError
from sparcl.base.rows import unit
from sparcl.extraction import backbones, passes
from sparcl.extraction.images import ImageSplit
from sparcl.extraction.passes import Batches
from sparcl.extraction.preprocessing import enlarge, preprocess
from sparcl.extraction.storage.folder import FolderStorage
from sparcl.extraction.storage.protocol import ArrayStorage, Storage
from sparcl.methods import build
from study.images import datasets
from study.images.preprocessing import preprocessing_of
from study.pipeline.configuration import load

ROOT = Path(__file__).resolve().parents[1]
PARAMS = load(ROOT)
VIT = {"timm_id": "vit_base_patch16_224", "preprocessing": "timm"}
LITE = PARAMS["backbones"]["efficientnet-lite0"]
DTYPE = np.dtype("float16")  # of the features that are written
CLASSES = [str(i) for i in range(10)]


def random_network(block: dict, device: str, precision: str) -> backbones.Backbone:
    """Return a network with random weights, otherwise as `backbones.build` makes it."""
    torch.manual_seed(0)
    model = timm.create_model(block["timm_id"], num_classes=0).eval().requires_grad_(False)
    model = model.to(device, memory_format=torch.channels_last)
    settings = preprocessing_of(block, {"crop": 1.0})
    return backbones.Backbone(model, block["timm_id"], "0" * 64, settings, [], device, precision)


def listing(source: Storage, names: list[str]) -> ImageSplit:
    """Return a split of these images."""
    labels = np.arange(len(names), dtype=np.int32) % 10
    return ImageSplit("bench", "train", CLASSES, names, names, labels, source)


def small_images(n: int) -> ImageSplit:
    """Return n images of 32 px in memory; the same 1000 again and again."""
    arrays = np.random.default_rng(0).integers(0, 256, (1000, 32, 32, 3), dtype=np.uint8)
    names = [f"{i:07d}" for i in range(n)]
    return listing(ArrayStorage({name: arrays[i % 1000] for i, name in enumerate(names)}), names)


def jpeg_images(folder: Path, n: int) -> ImageSplit:
    """Return n JPEG files of 500 x 375 px, as smooth as photos: 200 contents under n names."""
    rng = np.random.default_rng(0)
    files = []
    for i in range(min(n, 200)):
        coarse = Image.fromarray(rng.integers(0, 256, (48, 64, 3), dtype=np.uint8))
        fine = np.asarray(coarse.resize((500, 375), Image.Resampling.BICUBIC)).astype(int)
        fine = np.clip(fine + rng.integers(-12, 13, fine.shape), 0, 255).astype(np.uint8)
        stream = io.BytesIO()
        Image.fromarray(fine).save(stream, format="jpeg", quality=90)
        files.append(folder / f"{i:07d}.jpg")
        files[-1].write_bytes(stream.getvalue())
    for i in range(len(files), n):
        os.link(files[i % 200], folder / f"{i:07d}.jpg")
    source = FolderStorage(folder)
    return listing(source, source.names())


class Resident(Batches):
    """Batches of random pixels that are in memory already: what is left is the network."""

    @cached_property
    def pixels(self) -> np.ndarray:
        """Return pixels (batch_size, size, size, 3)."""
        size = self.network.preprocessing["size"]
        shape = (self.batch_size, size, size, 3)
        return np.random.default_rng(0).integers(0, 256, shape, dtype=np.uint8)

    def load(self, first: int) -> tuple[np.ndarray, list[int]]:
        """Return the pixels, all of them readable."""
        return self.pixels, []


def measure(steps: Iterator[Any], per_step: int, seconds: float, skip: int) -> np.ndarray:
    """Return images per second of wall clock and per second of this process's CPU time, after `skip` steps."""
    for _ in range(skip):
        next(steps)
    wall, used, done = time.perf_counter(), time.process_time(), 0
    while time.perf_counter() < wall + seconds:
        next(steps)
        done += per_step
    return np.array([done / (time.perf_counter() - wall), done / (time.process_time() - used)])


def batches(images: ImageSplit, network: backbones.Backbone, batch: int) -> Batches:
    """Return the images of a split in batches."""
    return Batches(images, network, range(0, len(images.ids), batch), batch)


def alone(given: Batches, workers: int) -> Iterator[object]:
    """Yield after each pass of the network on random pixels: on a GPU resident there, else on as many cores."""
    network = given.network
    resident = Resident(given.images, network, given.firsts, given.batch_size)
    if network.device != "cuda":
        yield from passes.chunks(resident, workers, workers, DTYPE)
        return
    pixels = torch.from_numpy(resident.pixels).cuda()
    while True:
        network.forward(pixels)
        torch.cuda.synchronize()
        yield


def decoded(given: Batches, workers: int) -> Iterator[object]:
    """Yield after each decoded batch, without any network."""
    how: dict[str, Any] = {"prefetch_factor": 3, "multiprocessing_context": "fork"}
    yield from DataLoader(given, batch_size=None, num_workers=workers, **how)  # type: ignore[arg-type]


def extracted(given: Batches, workers: int) -> Iterator[object]:
    """Yield after each extracted batch, written to a file."""
    with tempfile.TemporaryFile() as file:
        for chunk, _ in passes.chunks(given, workers, workers, DTYPE):
            yield file.write(chunk)


def speed(device: str, seconds: float, workers: int, batch: int) -> None:
    """Print rates and ratios.

    On a CPU the network alone and the extraction take turns, and ratios are medians over turns: another load on the
    machine must not pass for a ratio. A GPU is measured in one piece, because workers decode on during a pause.
    """
    gpu = device == "cuda"
    block, turns, skip = (VIT, 1, 3 * workers + 2) if gpu else (LITE, 8, 2 * workers + 1)
    print(
        "| network | precision | input | images/s | network alone | decoding alone | ratio | by CPU time | aim |"
    )
    print("|---|---|---|--:|--:|--:|--:|--:|--:|")
    with tempfile.TemporaryDirectory() as folder:
        small = small_images(2_000_000 if gpu else 100_000)
        jpegs = jpeg_images(Path(folder), 80_000 if gpu else 8_000)
        for precision in ("bfloat16", "float16") if gpu else ("float32",):
            network = random_network(block, device, precision)
            decode = measure(decoded(batches(jpegs, network, batch), workers), batch, seconds, skip)
            for name, images, aim in (
                ("32 px in memory", small, 90 if gpu else 87),
                ("500 px JPEG", jpegs, 80 if gpu else 75),
            ):
                given = batches(images, network, batch)
                sides = alone(given, workers), extracted(given, workers)
                pairs = np.array(
                    [
                        [measure(steps, batch, seconds / turns, skip) for steps in sides]
                        for _ in range(turns)
                    ]
                )
                for steps in sides:
                    steps.close()
                forward, reached = np.median(pairs[:, :, 0], axis=0)
                shown = [f"{x:.0%}" for x in np.median(pairs[:, 1] / pairs[:, 0], axis=0)]
                if gpu:  # against the slower of network and decoding
                    bound = min(forward, decode[0]) if images is jpegs else forward
                    shown = [f"{reached / bound:.0%}", "-"]
                decoding = f"{decode[0]:.0f}" if images is jpegs else "-"
                print(
                    f"| {network.timm_id} | {precision} | {name} | {reached:.1f} | {forward:.1f} | {decoding} | "
                    f"{' | '.join(shown)} | {aim}% |",
                    flush=True,
                )


def features(
    split: str, device: str, precision: str, batch: int, limit: int
) -> tuple[np.ndarray, np.ndarray]:
    """Return features and labels of scikit-learn's digits through EfficientNet-Lite0."""
    network = backbones.build(LITE, preprocessing_of(LITE, {"crop": 1.0}), device, precision)
    images = datasets.open_split("digits", PARAMS["datasets"]["digits"], split)
    every = slice(None, None, max(len(images.ids) // limit, 1))
    taken = {name: getattr(images, name)[every] for name in ("ids", "files", "labels")}
    images = dataclasses.replace(images, **taken)
    workers = 4 if device == "cuda" else cores()
    parts = passes.chunks(batches(images, network, batch), workers, workers, np.dtype("float32"))
    found = np.frombuffer(b"".join(chunk for chunk, _ in parts), dtype=np.float32)
    return found.reshape(len(images.ids), -1), images.labels


def ridge_accuracy(
    train: tuple[np.ndarray, np.ndarray], test: tuple[np.ndarray, np.ndarray]
) -> float:
    """Return the accuracy in percent of joint ridge on unit-norm features."""
    learner = build("acil", ridge=0.1)
    learner.fit_session(unit(train[0]), train[1])
    return 100 * float(np.mean(learner.predict(unit(test[0])) == test[1]))


def agreement(device: str, limit: int) -> None:
    """Print how far features of other devices and precisions are from the CPU's in float32."""
    try:
        reference = [features(split, "cpu", "float32", 16, limit) for split in ("train", "test")]
    except SparclError as error:
        print(
            f"\nAgreement: left out, the weights of EfficientNet-Lite0 are not at hand ({error})."
        )
        return
    base = ridge_accuracy(*reference)
    print("\n| against CPU float32 | smallest cosine | aim | ridge accuracy | difference | aim |")
    print("|---|---|---|---|---|---|")
    print(f"| cpu float32 | 1 | | {base:.2f} | | |")
    for precision in ("float32", "bfloat16", "float16"):
        if device == "cpu" and precision == "float32":
            continue
        other = [features(split, device, precision, 64, limit) for split in ("train", "test")]
        pairs = zip(reference, other, strict=True)
        least = min((unit(a[0]) * unit(b[0])).sum(axis=1).min() for a, b in pairs)
        accuracy = ridge_accuracy(*other)
        aim = "0.999999" if precision == "float32" else "0.999"
        print(
            f"| {device} {precision} | {least:.7f} | > {aim} | {accuracy:.2f} | {accuracy - base:+.2f} | ±0.2 |",
            flush=True,
        )


def enlarging() -> None:
    """Print the largest difference between enlarging on the GPU and Pillow's resize."""
    settings = preprocessing_of(VIT, {"crop": 1.0})
    arrays = np.random.default_rng(0).integers(0, 256, (256, 32, 32, 3), dtype=np.uint8)
    ours = enlarge(torch.from_numpy(arrays).cuda(), settings).cpu().numpy().astype(int)
    pillow = np.stack([preprocess(Image.fromarray(a), settings) for a in arrays])
    print(
        f"\nEnlarging 32 to 224 px on the GPU against Pillow: {np.abs(ours - pillow).max()}/255 at most."
    )


def cores() -> int:
    """Return how many cores this process may use."""
    return len(os.sched_getaffinity(0))


def main() -> None:
    """Run the checks that this machine allows."""
    parser = argparse.ArgumentParser(description="Speed and agreement of feature extraction.")
    parser.add_argument("--device", choices=["auto", "cpu", "cuda"], default="auto")
    parser.add_argument("--seconds", type=float, default=10, help="of each measurement")
    parser.add_argument("--workers", type=int, default=cores(), help="processes or threads")
    parser.add_argument("--batch", type=int, help="default as in params.yaml")
    options = parser.parse_args()
    device = options.device
    if device == "auto":
        device = "cuda" if torch.cuda.is_available() else "cpu"
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = False
    prefix = "gpu_" if device == "cuda" else ""
    batch = options.batch or PARAMS["extraction"][f"{prefix}batch_size"]
    began = time.perf_counter()
    card = torch.cuda.get_device_name() if device == "cuda" else "no GPU used"
    versions = f"torch {torch.__version__}, timm {timm.__version__}"
    print(f"{card}; {platform.processor()}, {cores()} cores; {versions}; batch {batch}\n")
    speed(device, options.seconds, options.workers, batch)
    agreement(device, 2000 if device == "cuda" else 250)
    if device == "cuda":
        enlarging()
    print(f"\n{time.perf_counter() - began:.0f} s in all.")


if __name__ == "__main__":
    main()
