"""The commands about images: label, learn."""

import argparse
import logging
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from sparcl.app import arguments, model_files, pictures
from sparcl.app.arguments import argument, command, out, saved
from sparcl.app.model import Model
from sparcl.app.outputs import one_at_a_time
from sparcl.base.errors import SkippedError

logger = logging.getLogger(__name__)

WEIGHTS = saved(
    *("--weights", "FILE"),
    help="a copy of the network's weights; default: they are fetched from the source of the extraction",
)
DEVICE = argument(
    "--device",
    choices=pictures.DEVICES,
    default="cpu",
    help="device of the network: cpu (default), cuda, or auto (cuda if present)",
)


@command(
    *("label", "predict the labels of images"),
    saved("model", "MODEL.npz", help="a model of fit or learn"),
    argument("images", nargs="+", type=Path, metavar="IMAGE|FOLDER"),
    argument(
        "--top", type=arguments.positive, default=1, metavar="K", help="number of labels per image"
    ),
    *(WEIGHTS, DEVICE),
    saved("--csv", "FILE.csv", dest="out", help="write labels and all scores to this file"),
)
def label(chosen: argparse.Namespace) -> Iterator[str]:
    """Print the labels with the highest scores for images, through the network of the model's features.

    Scores are not probabilities. Images that cannot be read are named, and the exit code is then 1.
    """
    found = Model.load(chosen.model).label(chosen.images, chosen.weights, chosen.device)
    if chosen.out is not None:
        samples = zip(found.paths, found.ids, strict=True)
        n = model_files.write_labels(chosen.out, found.class_names, [(samples, found.scores)])
        yield f"{chosen.out}: labels and scores of {n} images"
    elif found.paths:
        yield from _table(found, chosen.top)
    for path, why in found.unreadable.items():
        logger.warning("%s: cannot be read (%s)", path, why)
    if found.unreadable:
        n = len(found.unreadable)
        raise SkippedError(
            f"{n} of {n + len(found.paths)} images could not be read and got no label."
        )


def _table(found: pictures.Labels, top: int) -> Iterator[str]:
    """Yield a line for each of an image's labels with the highest scores, the highest first."""
    best = np.argsort(-found.scores, axis=1, kind="stable")[:, :top]
    names = found.class_names[best]
    wide = max(map(len, ("image", *found.paths)))
    long = max(map(len, ("label", *names.ravel().tolist())))
    yield f"{'image':<{wide}}  {'label':<{long}}  {'score':>10}"
    for path, own, scores in zip(
        found.paths, names, np.take_along_axis(found.scores, best, axis=1), strict=True
    ):
        for place, (name, score) in enumerate(zip(own, scores, strict=True)):
            yield f"{'' if place else path:<{wide}}  {name:<{long}}  {score:>#10.4g}"


@command(
    *("learn", "learn one more session from images"),
    saved("append", "MODEL.npz", help="a model of fit or learn"),
    argument(
        *("images",),
        nargs="+",
        type=Path,
        metavar="FOLDER",
        help="<class>/, or a folder of such folders",
    ),
    *(WEIGHTS, DEVICE),
    out("MODEL.npz", "where the model is written; may be the input"),
)
def learn(chosen: argparse.Namespace) -> Iterator[str]:
    """Continue a saved model with one session of images, in folders with the names of their classes.

    Nothing is learned if an image cannot be read or was learned before.
    """
    with one_at_a_time(chosen.append, chosen.out):
        model = Model.load(chosen.append)
        samples, classes = pictures.learn(model, chosen.images, chosen.weights, chosen.device)
        yield f"session {model.learner.session}: {samples} images of {classes} classes"
        model.save(chosen.out)
    yield model.described(chosen.out)
