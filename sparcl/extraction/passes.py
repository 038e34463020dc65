"""Forward passes over all batches while the next ones are decoded: by threads on a CPU, by processes for a GPU."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from sparcl.base.errors import DatasetError
from sparcl.extraction.batches import Batches
from sparcl.extraction.resampling import enlarge

if TYPE_CHECKING:
    import torch


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
        cast(
            Any, batches
        ),  # a data set by its methods, not by inheritance, which would import torch
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
