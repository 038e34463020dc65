"""predict: labels and scores of a saved model."""

import argparse
from pathlib import Path
from typing import Any

from sparcl.app import arguments, predicting
from sparcl.app.model import Model


def add(commands: Any) -> None:
    """Declare the command and its arguments."""
    parser = commands.add_parser(
        "predict",
        help="write the label and the scores of each sample",
        description="Write a CSV with a row a sample: file, id, label, and the score of each class that the model has "
        "learned. Samples of a feature file have the ids of their images, rows of an array file their number from 0.",
    )
    parser.add_argument("model", type=Path, metavar="MODEL.npz")
    parser.add_argument(
        "--features",
        nargs="+",
        type=Path,
        required=True,
        metavar="FILE",
        help="feature files (h5), or features (n, d) in npy, npz, pt, safetensors, csv or parquet files",
    )
    arguments.add_device(parser)
    arguments.add_out(parser, "FILE.csv", "where labels and scores are written")
    parser.set_defaults(run=run)


def run(chosen: argparse.Namespace) -> None:
    """Write labels and scores of feature files or arrays."""
    model = Model.load(chosen.model)
    model.move(chosen.device)
    samples = predicting.predict(model, chosen.features, chosen.out)
    print(f"{chosen.out}: labels and scores of {samples} samples")
