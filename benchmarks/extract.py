"""How close extraction comes to the speed of the network alone, and whether GPU and CPU agree.

    python benchmarks/extract.py                      under five minutes; a GPU if there is one, else the CPU part
    python benchmarks/extract.py --device cpu --seconds 5

Prints a table in Markdown for docs/performance.md. Images are made here: 32-px arrays like CIFAR's, and 500-px JPEG
files. Rates are of steady state: the median over equal blocks, after a warm-up. On a GPU the network is ViT-B/16 with
random weights (speed does not hang on them); on a CPU EfficientNet-Lite0. Agreement and accuracy use EfficientNet-Lite0
with its published weights on scikit-learn's digits; they are left out, and said to be, where the weights cannot be had.
"""

import argparse
import dataclasses
import io
import os
import platform
import statistics
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import timm
import torch
import yaml
from PIL import Image

from sparcl.errors import SparclError
from sparcl.features import backbones, datasets, pipeline
from sparcl.features.sources import ArraySource, FolderSource

ROOT = Path(__file__).resolve().parents[1]
PARAMS = yaml.safe_load((ROOT / "params.yaml").read_text(encoding="utf-8"))
VIT = {"timm_id": "vit_base_patch16_224", "preprocessing": "timm"}
LITE = PARAMS["backbones"]["efficientnet-lite0"]
CLASSES = [str(i) for i in range(10)]


def processor() -> str:
    """Return the name of the processor."""
    lines = (
        Path("/proc/cpuinfo").read_text().splitlines() if os.path.exists("/proc/cpuinfo") else []
    )
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return f"{names[0] if names else platform.processor()}, {len(os.sched_getaffinity(0))} cores"


def random_network(block: dict, device: str, precision: str) -> backbones.Backbone:
    """Return a network with random weights, otherwise as `backbones.build` makes it."""
    torch.manual_seed(0)
    model = timm.create_model(block["timm_id"], num_classes=0).eval().requires_grad_(False)
    model = model.to(device, memory_format=torch.channels_last)
    settings = backbones.preprocessing_of(block, {"crop": 1.0})
    return backbones.Backbone(model, block["timm_id"], "0" * 64, settings, [], device, precision)


def listing(source: object, names: list[str]) -> datasets.ImageSplit:
    """Return a split of these images."""
    labels = np.arange(len(names), dtype=np.int32) % 10
    return datasets.ImageSplit("bench", "train", CLASSES, names, names, labels, source)


def small_images(n: int) -> datasets.ImageSplit:
    """Return n images of 32 px in memory; the same 1000 again and again."""
    arrays = np.random.default_rng(0).integers(0, 256, (1000, 32, 32, 3), dtype=np.uint8)
    names = [f"{i:07d}" for i in range(n)]
    return listing(ArraySource({name: arrays[i % 1000] for i, name in enumerate(names)}), names)


def jpeg_images(folder: Path, n: int) -> datasets.ImageSplit:
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
    source = FolderSource(folder)
    return listing(source, source.names())


def rate(steps: "object", per_step: int, seconds: float) -> float:
    """Return images per second: the median over steps, without the first fifth."""
    times = [time.perf_counter()]
    for _ in steps:
        times.append(time.perf_counter())
        if times[-1] - times[0] > seconds and len(times) > 6:
            break
    times = times[len(times) // 5 :]
    group = max(len(times) // 10, 1)
    blocks = [
        group * per_step / (times[i + group] - times[i])
        for i in range(0, len(times) - group, group)
    ]
    return statistics.median(blocks)


def forward_gpu(network: backbones.Backbone, batch: int):
    """Yield after each pass of the network on resident random input."""
    size = network.preprocessing["size"]
    pixels = torch.randint(0, 256, (batch, size, size, 3), dtype=torch.uint8, device="cuda")
    while True:
        network.forward(pixels)
        torch.cuda.synchronize()
        yield


def forward_cpu(network: backbones.Backbone, batch: int, threads: int):
    """Yield after each pass on random input, on as many cores as extraction uses."""
    size = network.preprocessing["size"]
    pixels = np.random.default_rng(0).integers(0, 256, (batch, size, size, 3), dtype=np.uint8)
    with ThreadPoolExecutor(threads, torch.set_num_threads, (1,)) as pool:
        queue = [pool.submit(network, pixels) for _ in range(2 * threads)]
        try:
            while True:
                queue.pop(0).result()
                queue.append(pool.submit(network, pixels))
                yield
        finally:
            for job in queue:
                job.cancel()


def decode_only(images: datasets.ImageSplit, network: backbones.Backbone, batch: int, workers: int):
    """Yield after each decoded batch, without any network."""
    from torch.utils.data import DataLoader

    batches = pipeline.Batches(images, network, range(0, len(images.ids), batch), batch)
    yield from DataLoader(
        batches,
        batch_size=None,
        num_workers=workers,
        prefetch_factor=3,
        multiprocessing_context="fork",
    )


def extract(images, network, batch: int, workers: int, dtype: np.dtype):
    """Yield after each extracted batch, written to a file as `extract_split` does."""
    batches = pipeline.Batches(
        images,
        network,
        range(0, len(images.ids), batch),
        batch,
        small=network.device == "cuda",
    )
    by = pipeline.by_processes if network.device == "cuda" else pipeline.by_threads
    with tempfile.TemporaryFile() as file:
        for chunk, _ in by(batches, workers, dtype):
            file.write(chunk)
            yield


def speed(device: str, seconds: float, workers: int, batch: int) -> None:
    """Print rates and ratios."""
    dtype = np.dtype("float16")
    cases = ["bfloat16", "float16"] if device == "cuda" else ["float32"]
    block = VIT if device == "cuda" else LITE
    print(
        "| network | precision | input | images/s | network alone | decoding alone | ratio | aim |"
    )
    print("|---|---|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        small = small_images(2_000_000 if device == "cuda" else 100_000)
        jpegs = jpeg_images(Path(folder), 60_000 if device == "cuda" else 4_000)
        for precision in cases:
            network = random_network(block, device, precision)

            def alone(network=network) -> float:
                steps = (
                    forward_gpu(network, batch)
                    if device == "cuda"
                    else forward_cpu(network, batch, workers)
                )
                return rate(steps, batch, seconds)

            decode = rate(decode_only(jpegs, network, batch, workers), batch, seconds)
            for name, images, aim in (
                ("32 px in memory", small, 0.0),
                ("500 px JPEG", jpegs, decode),
            ):
                # Before and after: another load on the machine must not pass for a ratio.
                first = alone()
                reached = rate(extract(images, network, batch, workers, dtype), batch, seconds)
                forward = (first + alone()) / 2
                if device == "cuda":
                    bound, goal = (min(forward, aim), "80%") if aim else (forward, "90%")
                else:
                    bound, goal = forward, "75%" if aim else "87%"
                shown = f"{aim:.0f}" if aim else "-"
                print(
                    f"| {network.timm_id} | {precision} | {name} | {reached:.1f} | {forward:.1f} | {shown} | "
                    f"{reached / bound:.0%} | {goal} |",
                    flush=True,
                )


def cosines(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return the cosine of each pair of rows."""
    a, b = a.astype(np.float64), b.astype(np.float64)
    return (a * b).sum(1) / np.linalg.norm(a, axis=1) / np.linalg.norm(b, axis=1)


def features(split: str, device: str, precision: str, batch: int, limit: int) -> tuple:
    """Return features and labels of scikit-learn's digits through EfficientNet-Lite0."""
    settings = backbones.preprocessing_of(LITE, {"crop": 1.0})
    network = backbones.build(LITE, settings, device, precision)
    images = datasets.open_split("digits", PARAMS["datasets"]["digits"], split)
    step = max(len(images.ids) // limit, 1)
    keep = range(0, len(images.ids), step)
    images = dataclasses.replace(
        images,
        ids=[images.ids[i] for i in keep],
        files=[images.files[i] for i in keep],
        labels=images.labels[::step],
    )
    chunks = extract_all(images, network, batch)
    return np.frombuffer(chunks, dtype=np.float32).reshape(len(images.ids), -1), images.labels


def extract_all(images: datasets.ImageSplit, network: backbones.Backbone, batch: int) -> bytes:
    """Return all rows of features."""
    batches = pipeline.Batches(
        images,
        network,
        range(0, len(images.ids), batch),
        batch,
        small=network.device == "cuda",
    )
    dtype = np.dtype("float32")
    if network.device == "cuda":
        return b"".join(chunk for chunk, _ in pipeline.by_processes(batches, 4, dtype))
    return b"".join(chunk for chunk, _ in pipeline.by_threads(batches, cores(), dtype))


def ridge_accuracy(train: tuple, test: tuple) -> float:
    """Return the accuracy in percent of joint ridge on unit-norm features."""
    unit = [x / np.linalg.norm(x, axis=1, keepdims=True) for x in (train[0], test[0])]
    unit = [x.astype(np.float64) for x in unit]
    gram = unit[0].T @ unit[0] + 0.1 * np.eye(unit[0].shape[1])
    W = np.linalg.solve(gram, unit[0].T @ np.eye(10)[train[1]])
    return 100 * float(((unit[1] @ W).argmax(1) == test[1]).mean())


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
        if device == "cpu" and precision != "bfloat16":
            continue
        other = [features(split, device, precision, 64, limit) for split in ("train", "test")]
        least = min(cosines(a[0], b[0]).min() for a, b in zip(reference, other, strict=True))
        accuracy = ridge_accuracy(*other)
        aim = "0.999999" if precision == "float32" else "0.999"
        print(
            f"| {device} {precision} | {least:.7f} | > {aim} | {accuracy:.2f} | {accuracy - base:+.2f} | ±0.2 |",
            flush=True,
        )


def enlarging() -> None:
    """Print the largest difference between enlarging on the GPU and Pillow's resize."""
    settings = backbones.preprocessing_of(VIT, {"crop": 1.0})
    arrays = np.random.default_rng(0).integers(0, 256, (256, 32, 32, 3), dtype=np.uint8)
    ours = backbones.enlarge(torch.from_numpy(arrays).cuda(), settings).cpu().numpy().astype(int)
    pillow = np.stack([backbones.preprocess(Image.fromarray(a), settings) for a in arrays])
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
    print(
        f"{card}; {processor()}; torch {torch.__version__}, timm {timm.__version__}; batch {batch}\n"
    )
    speed(device, options.seconds, options.workers, batch)
    agreement(device, 2000 if device == "cuda" else 250)
    if device == "cuda":
        enlarging()
    print(f"\n{time.perf_counter() - began:.0f} s in all.")


if __name__ == "__main__":
    main()
