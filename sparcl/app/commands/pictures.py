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
    help="a copy of the network's weights; by default they are fetched as for the features",
)
DEVICE = argument(
    "--device",
    choices=pictures.DEVICES,
    default="cpu",
    help="where the network computes: cpu (default), cuda, or auto, cuda where there is a card",
)


@command(
    *("label", "say what is in images"),
    saved("model", "MODEL.npz", help="of fit or learn"),
    argument("images", nargs="+", type=Path, metavar="IMAGE|FOLDER"),
    argument("--top", type=arguments.positive, default=1, metavar="K", help="labels of each image"),
    *(WEIGHTS, DEVICE),
    saved("--csv", "FILE.csv", dest="out", help="write labels and all scores here"),
)
def label(chosen: argparse.Namespace) -> Iterator[str]:
    """Put images through the network that a model's features came from, and print the labels with the highest scores.

    Scores are the method's own, no probabilities. Images that cannot be read are named, and the exit code is then 1.
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
    saved("append", "MODEL.npz", help="of fit or learn; its method and settings hold"),
    argument("images", nargs="+", type=Path, metavar="FOLDER", help="<class>/, or what holds some"),
    *(WEIGHTS, DEVICE),
    out("MODEL.npz", "where the model is written, which may be the one that goes on"),
)
def learn(chosen: argparse.Namespace) -> Iterator[str]:
    """Go on with a saved model: images in folders, which have the names of their classes, are its next session.

    Nothing is learned where one of them cannot be read, or was learned before.
    """
    with one_at_a_time(chosen.append, chosen.out):
        model = Model.load(chosen.append)
        samples, classes = pictures.learn(model, chosen.images, chosen.weights, chosen.device)
        yield f"session {model.learner.session}: {samples} images of {classes} classes"
        model.save(chosen.out)
    yield model.described(chosen.out)
