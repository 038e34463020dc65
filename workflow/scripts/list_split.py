"""Write which image of a data set is for training and which for testing."""

from study.images import datasets, split_lists
from study.pipeline import adapter
from study.places import named_files


@adapter.script()
@named_files()
def main(snakemake) -> None:
    dataset, settings = snakemake.wildcards.dataset, snakemake.config["extraction"]
    block = snakemake.config["datasets"][dataset]
    split = datasets.find_split(dataset, block, settings["image_root"], settings["cache"])
    split_lists.write(snakemake.output.list, split)
