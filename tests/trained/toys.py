"""A transformer, a convolutional network and images that are small enough to train in a test."""

from collections.abc import Callable
from typing import Any

import numpy as np
import timm
import torch

from study.trained import methods
from study.trained.images import Images
from study.trained.learner import Trained
from study.trained.setup import Setup

Make = Callable[..., Setup]  # the fixture

SIDE, CLASSES = 16, 6
PREPROCESSING = {
    "size": SIDE,
    "crop": 1.0,
    "interpolation": "bilinear",
    "mean": [0.5, 0.5, 0.5],
    "std": [0.5, 0.5, 0.5],
}
SESSIONS = [np.array([4, 1]), np.array([0, 5]), np.array([2, 3])]


def images(each: int, seed: int) -> Images:
    """Return ``each`` noisy copies of a coarse pattern a class."""
    patterns = np.random.default_rng(0).integers(40, 216, (CLASSES, 4, 4, 3)).repeat(4, 1)
    patterns = patterns.repeat(4, 2)
    labels = np.tile(np.arange(CLASSES), each)
    noise = np.random.default_rng(seed).normal(0, 12, (len(labels), SIDE, SIDE, 3))
    pixels = np.clip(patterns[labels] + noise, 0, 255).astype(np.uint8)
    return Images(list(pixels), labels, CLASSES)


def transformer(depth: int = 2, **options: Any) -> torch.nn.Module:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        model = timm.create_model(
            "vit_tiny_patch16_224",
            img_size=SIDE,
            patch_size=4,
            embed_dim=16,
            depth=depth,
            num_heads=2,
            num_classes=0,
            **options,
        )
        for parameter in model.parameters():  # timm's start leaves a small network nearly constant
            if parameter.ndim > 1:
                torch.nn.init.normal_(parameter, std=parameter.shape[-1] ** -0.5)
    return model.eval()


def convolutional() -> torch.nn.Module:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        return timm.create_model("test_resnet", pretrained=False, num_classes=0).eval()


def rows(setup: Setup, *sessions: int) -> np.ndarray:
    """Return the rows of the training images of some sessions, from 0."""
    classes = np.concatenate([SESSIONS[session] for session in sessions])
    return np.flatnonzero(np.isin(setup.train.labels, classes))


def fitted(
    name: str, hyper: dict[str, Any], setup: Setup, sessions: int = 3, **more: Any
) -> Trained:
    """Return a learner of so many sessions; settings in ``more`` go before those in ``hyper``."""
    learner = methods.build(name, setup, **hyper | more)
    for session in range(sessions):
        learner.fit_session(rows(setup, session))
    return learner
