"""Batches of images, and forward passes over them while the next ones are decoded.

Threads decode for a CPU, processes for a GPU.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from sparcl.base.errors import DatasetError
from sparcl.extraction.backbones import Backbone
from sparcl.extraction.images import ImageSplit
from sparcl.extraction.preprocessing import enlarge, preprocess

if TYPE_CHECKING:
    import torch
    from PIL import Image


@dataclass
class Batches:
    """The images of one split in batches of equal size; the last batch is filled up with its last image.

    Attributes
    ----------
    firsts : position of the first image of each batch
    tolerant : an image that cannot be decoded becomes black, and `load` names it; otherwise it is an error
    small : hand out images unresized where all of a batch have one size, no larger than the network's
    """

    images: ImageSplit
    network: Backbone
    firsts: range
    batch_size: int
    tolerant: bool = False
    small: bool = False

    def load(self, first: int) -> tuple[np.ndarray, list[int]]:
        """Return pixels (batch_size, h, w, 3) uint8, and the positions of those that could not be decoded.

        Raises
        ------
        DatasetError : an image cannot be decoded, and `tolerant` is off
        """
        size = self.network.preprocessing["size"]
        found: list[Image.Image | None] = []
        bad: list[int] = []
        for position, index in enumerate(range(first, first + self.used(first))):
            try:
                found.append(self.images.image(index))
            except DatasetError:
                if not self.tolerant:
                    raise
                bad.append(position)
                found.append(None)
        sizes = {image.size for image in found if image is not None}
        if self.small and len(sizes) == 1 and max(next(iter(sizes))) <= size:
            width, height = sizes.pop()
            black = np.zeros((height, width, 3), dtype=np.uint8)
            pixels = [black if i is None else np.asarray(i.convert("RGB")) for i in found]
        else:
            black = np.zeros((size, size, 3), dtype=np.uint8)
            pixels = [
                black if i is None else preprocess(i, self.network.preprocessing) for i in found
            ]
        return np.stack(pixels + [pixels[-1]] * (self.batch_size - len(pixels))), bad

    def used(self, first: int) -> int:
        """Return the images of a batch, without those that fill it up."""
        return min(self.batch_size, len(self.images.ids) - first)

    # The data loader's interface. An error travels as text, since it would lose its class between processes.

    def __len__(self) -> int:
        return len(self.firsts)

    def __getitem__(self, number: int) -> tuple[np.ndarray, list[int], int, str]:
        first = self.firsts[number]
        try:
            return *self.load(first), self.used(first), ""
        except DatasetError as error:
            return np.zeros(0), [], 0, str(error)


def chunks(
    batches: Batches, threads: int, workers: int, dtype: np.dtype
) -> Iterator[tuple[bytes, int]]:
    """Yield what `by_threads` does, in the way that suits the network's device, and alike at every call.

    Parameters
    ----------
    threads, workers : that decode for a CPU, and for a GPU
    """
    import torch

    # The same algorithms in the same precision at every call.
    torch.backends.cudnn.deterministic, torch.backends.cudnn.benchmark = True, False
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = False
    if batches.network.device == "cuda":
        batches.small = True
        return by_processes(batches, workers, dtype)
    return by_threads(batches, threads, dtype)


def by_threads(batches: Batches, threads: int, dtype: np.dtype) -> Iterator[tuple[bytes, int]]:
    """Yield chunk (rows of features, then blocks) and number of images of each batch, in order.

    Each thread takes whole batches from decoding to features on one core, so no core waits for another inside a layer
    and the result does not depend on the number of threads.
    """
    import torch

    def work(first: int) -> tuple[bytes, int]:
        pixels, bad = batches.load(first)
        features, blocks = batches.network(pixels)
        rows = [features] if blocks is None else [features, blocks.reshape(len(pixels), -1)]
        joined = np.concatenate(rows, axis=1)
        joined[bad] = np.nan
        with np.errstate(over="ignore"):  # `store.write` reports infinite values by sample
            return joined[: batches.used(first)].astype(dtype).tobytes(), batches.used(first)

    pool = ThreadPoolExecutor(threads, initializer=torch.set_num_threads, initargs=(1,))
    queue: deque[Future[tuple[bytes, int]]] = deque()
    try:
        for first in batches.firsts:
            queue.append(pool.submit(work, first))
            if len(queue) > 2 * threads:
                yield queue.popleft().result()
        while queue:
            yield queue.popleft().result()
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


def by_processes(batches: Batches, workers: int, dtype: np.dtype) -> Iterator[tuple[bytes, int]]:
    """Yield what `by_threads` does, from one network that worker processes feed.

    While the network works on a batch, workers decode later ones, a second CUDA stream uploads the next one from pinned
    memory, and the caller writes the previous one.
    """
    import torch
    from torch.utils.data import DataLoader

    network = batches.network
    cuda = network.device == "cuda"
    loader: DataLoader[Any] = DataLoader(
        # a data set by its methods, not by inheritance, which would import torch
        cast(Any, batches),
        batch_size=None,
        num_workers=workers,
        pin_memory=cuda,
        prefetch_factor=3 if workers else None,
        multiprocessing_context="fork" if workers else None,  # shares the images in memory
    )
    gpu: Any = torch.cuda  # its constructors have no types
    copying = gpu.Stream() if cuda else None
    pending: deque[tuple[torch.Tensor, int, torch.cuda.Event | None]] = deque()

    def collect() -> tuple[bytes, int]:
        rows, used, ready = pending.popleft()
        if ready is not None:
            ready.synchronize()
        return rows[:used].numpy().tobytes(), used

    for loaded, bad, used, error in loader:
        if error:
            raise DatasetError(error)
        pixels = loaded
        if copying is not None:
            with torch.cuda.stream(copying):
                pixels = loaded.to("cuda", non_blocking=True)
            torch.cuda.current_stream().wait_stream(copying)
            pixels.record_stream(torch.cuda.current_stream())
        with torch.inference_mode():
            pixels = enlarge(pixels, network.preprocessing)
            features, blocks = network.forward(pixels)
            rows = features if blocks is None else torch.cat([features, blocks.flatten(1)], dim=1)
            if bad:
                rows[bad] = torch.nan
            rows = rows.to(getattr(torch, str(dtype)))
            ready = None
            if cuda:
                host = torch.empty(rows.shape, dtype=rows.dtype, pin_memory=True)
                rows = host.copy_(rows, non_blocking=True)
                ready = gpu.Event()
                ready.record()
        pending.append((rows, used, ready))
        if len(pending) > 1:
            yield collect()
    while pending:
        yield collect()
