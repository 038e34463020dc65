"""Setups of small networks and images."""

import pytest
import torch
from trained.toys import PREPROCESSING, Make, images, transformer

from study.trained.images import Images, View
from study.trained.setup import Setup


@pytest.fixture
def setup() -> Make:
    """Return a builder of setups: a network, eight training images a class, a view."""

    def make(network: torch.nn.Module | None = None, augmentation: str = "none") -> Setup:
        view = View(PREPROCESSING, augmentation, least_area=0.3)
        return Setup(network or transformer(), images(8, 1), view)

    return make


@pytest.fixture
def test_images() -> Images:
    return images(4, 2)
