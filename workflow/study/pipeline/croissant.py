"""A bundled set of features as Croissant 1.1 (JSON-LD), from its card, its manifests and CITATION.cff.

``python -m study.pipeline.croissant`` writes data/features/<set>/croissant.json of every set again.
"""

import hashlib
import json
import re
from pathlib import Path
from typing import Any

import mlcroissant as mlc

from sparcl import __version__
from sparcl.base.files import read_json, write_text
from study.pipeline.configuration import read_yaml

FEATURES = Path("data/features")
TYPES = {"<f2": mlc.DataType.FLOAT16, "<i4": mlc.DataType.INT32}  # ids are text
# What version 1.1 adds to the vocabulary of 1.0, from which the library starts.
TERMS: dict[str, Any] = {name: f"cr:{name}" for name in ("arrayShape", "containedIn", "isArray")}
TERMS |= {name: {"@container": "@language"} for name in ("description", "name")}


def described(folder: Path, citation: dict[str, Any]) -> dict[str, Any]:
    """Return the JSON-LD of the set in a folder: a record for each class, and in each feature file for each image.

    Parameters
    ----------
    folder : with README.md (the card) and <backbone>/<split>.h5, each with its manifest
    citation : content of CITATION.cff: who made the features and, once they are published, when and where

    Raises
    ------
    KeyError
        The card lacks a section.
    mlcroissant.ValidationError
        The result is no Croissant.
    """
    ctx = mlc.Context(conforms_to="http://mlcommons.org/croissant/1.1")
    ctx.rdf.context |= TERMS
    text = (folder / "README.md").read_text(encoding="utf-8")
    title, summary, *parts = re.split(r"^#+ (.+)\n", text, flags=re.MULTILINE)[1:]
    card = dict(zip(parts[::2], map(_prose, parts[1::2]), strict=True))
    manifests = {file: read_json(file) for file in sorted(folder.glob("*/*.json"))}
    files = [path for file in manifests for path in (file.with_suffix(".h5"), file)]
    names = next(iter(manifests.values()))["class_names"]
    images = [_images(ctx, folder, *pair) for pair in manifests.items()]
    metadata = mlc.Metadata(
        ctx=ctx,
        name=folder.name,
        description=f"{title}. {_prose(summary.partition('|')[0])} {card['Counts']}",
        creators=[mlc.Organization(ctx=ctx, name=one["name"]) for one in citation["authors"]],
        cite_as=card["Source"],
        license=[card["Licence"]],
        version=__version__,
        date_published=citation.get("date-released"),
        url=citation.get("repository-code"),
        keywords=citation["keywords"],
        data_use_cases=[card["Intended use"]],
        data_limitations=[card["Duplicates"]],
        data_preprocessing_protocol=[card["Split"], card["Preprocessing and backbone"]],
        distribution=[_file(ctx, folder, path) for path in files],
        record_sets=[_classes(ctx, names), *images],
    )
    return dict(metadata.to_json())


def _prose(text: str) -> str:
    """Return a section in one line, its table as pairs of head and number."""
    if table := re.search(r"^\| (.+) \|\n\|[-|]+\n\| (.+) \|$", text, flags=re.MULTILINE):
        pairs = zip(*(row.split(" | ") for row in table.groups()), strict=True)
        text = text.replace(table[0], "; ".join(map(": ".join, pairs)).capitalize() + ".")
    return " ".join(text.split())


def _file(ctx: mlc.Context, folder: Path, path: Path) -> mlc.FileObject:
    content, name = path.read_bytes(), path.relative_to(folder).as_posix()
    return mlc.FileObject(
        ctx=ctx,
        id=name,
        name=name,
        content_url=name,
        content_size=f"{len(content)} B",
        encoding_formats=["application/x-hdf5" if path.suffix == ".h5" else "application/json"],
        sha256=hashlib.sha256(content).hexdigest(),
    )


def _classes(ctx: mlc.Context, names: list[str]) -> mlc.RecordSet:
    kinds = {"label": mlc.DataType.INT32, "name": mlc.DataType.TEXT}
    return mlc.RecordSet(
        ctx=ctx,
        id="classes",
        name="classes",
        description="The class that each label stands for.",
        key=["classes/label"],
        fields=[
            mlc.Field(ctx=ctx, id=f"classes/{name}", name=name, data_types=[kind])
            for name, kind in kinds.items()
        ],
        data=[{"classes/label": n, "classes/name": name} for n, name in enumerate(names)],
    )


def _images(ctx: mlc.Context, folder: Path, file: Path, manifest: dict[str, Any]) -> mlc.RecordSet:
    """Return the records of one feature file: a field for each array of the HDF5 file, which is the field's column."""
    name = file.relative_to(folder).with_suffix("").as_posix()
    fields = []
    for array, block in manifest["arrays"].items():
        shape = ",".join(map(str, block["shape"][1:]))
        field = mlc.Field(
            ctx=ctx,
            id=f"{name}/{array}",
            name=array,
            data_types=[TYPES.get(block["dtype"], mlc.DataType.TEXT)],
            is_array=bool(shape) or None,
            array_shape=shape or None,
            source=mlc.Source(
                ctx=ctx, file_object=f"{name}.h5", extract=mlc.Extract(ctx=ctx, column=array)
            ),
        )
        if array == "labels":
            field.references = mlc.Source(ctx=ctx, field="classes/label")
        fields.append(field)
    return mlc.RecordSet(
        ctx=ctx,
        id=name,
        name=name,
        description=f"{manifest['n']:,} images of the split {manifest['split']} through {manifest['backbone']}: "
        "a row of each array of the HDF5 file.",
        fields=fields,
    )


if __name__ == "__main__":
    cited = read_yaml(Path("CITATION.cff"))
    for card in sorted(FEATURES.glob("*/README.md")):
        written = json.dumps(described(card.parent, cited), indent=2, ensure_ascii=False)
        write_text(card.with_name("croissant.json"), f"{written}\n")
