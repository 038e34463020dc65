"""Write one class order, cut into sessions."""

import hashlib

from sparcl import adapter, stream
from sparcl.files import read_json, write_json


def main(snakemake) -> None:
    classes = read_json(snakemake.input.manifest)["classes"]
    number = int(snakemake.wildcards.order)
    order = stream.class_order(number, classes)
    sessions = [part.tolist() for part in stream.split_sessions(order, **snakemake.params.spec)]
    digest = hashlib.sha256(repr(sessions).encode()).hexdigest()
    write_json(snakemake.output[0], {"order": number, "sessions": sessions, "sha256": digest})


if __name__ == "__main__":
    with adapter.logged(snakemake.log):  # noqa: F821
        main(snakemake)  # noqa: F821
