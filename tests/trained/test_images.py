"""Decoding and views of images."""

from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image
from trained.toys import PREPROCESSING

from sparcl.extraction.images import ImageSplit
from sparcl.extraction.preprocessing import preprocess
from sparcl.extraction.storage.folder import FolderStorage
from study.trained.images import View, decode

RNG = np.random.default_rng(3)
PHOTOS = [RNG.integers(0, 256, (h, w, 3), dtype=np.uint8) for h, w in ((40, 30), (12, 20))]


def test_the_plain_view_is_the_input_of_feature_extraction(tmp_path: Path) -> None:
    for number, photo in enumerate(PHOTOS):
        Image.fromarray(photo).save(tmp_path / f"{number}.png")
    names = ["0.png", "1.png"]
    split = ImageSplit("toy", "train", ["a"], names, names, np.zeros(2), FolderStorage(tmp_path))
    preprocessing = PREPROCESSING | {"crop": 0.8}
    images = decode(split, side=20, interpolation="bilinear")
    assert [p.shape for p in images.pixels] == [(27, 20, 3), (12, 20, 3)]
    view = View(preprocessing).plain(images.pixels, "cpu").numpy()
    for got, photo in zip(view, PHOTOS, strict=True):
        square = preprocess(Image.fromarray(photo), preprocessing).astype(np.float32)
        np.testing.assert_allclose(got.transpose(1, 2, 0), (square / 255 - 0.5) / 0.5, atol=1e-6)


@pytest.mark.parametrize("augmentation", ["resized-crop", "random-crop"])
def test_an_augmented_view_depends_on_pixels_and_seed_alone(augmentation: str) -> None:
    view = View(PREPROCESSING, augmentation, side=24)
    state = torch.random.get_rng_state()
    pair = view.augmented(PHOTOS, np.array([1, 2]), "cpu")
    alone = view.augmented(PHOTOS[1:], np.array([2]), "cpu")
    assert torch.equal(state, torch.random.get_rng_state())
    assert pair.shape == (2, 3, 16, 16) and torch.equal(pair[1], alone[0])
    views = view.augmented([PHOTOS[0]] * 20, np.arange(20), "cpu")
    assert len({v.numpy().tobytes() for v in views}) > 15
