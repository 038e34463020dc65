"""Features: bundled ones are verified, others are extracted from images.

The two never write the same file, so a clone without images plans no extraction, and
`snakemake results/features/cub-50/efficientnet-lite0/train.h5` makes a bundled file again.
"""


rule extract_features:
    input:
        code=code("extract_features", "sparcl.features.extract"),
    output:
        features="results/features/{dataset}/{backbone}/{split}.h5",
        manifest="results/features/{dataset}/{backbone}/{split}.json",
    log:
        "results/logs/extract_features/{dataset}/{backbone}/{split}.log",
    conda:
        "../envs/extract.yaml"
    threads: config["extraction"]["threads"]
    params:
        spec=extraction_spec,
    script:
        "../scripts/extract_features.py"


rule verify_features:
    input:
        features="data/features/{dataset}/{backbone}/{split}.h5",
        manifest="data/features/{dataset}/{backbone}/{split}.json",
        code=code("verify_features", "sparcl.features.store"),
    output:
        "results/verified/{dataset}/{backbone}/{split}.json",
    log:
        "results/logs/verify_features/{dataset}/{backbone}/{split}.log",
    conda:
        "../envs/core.yaml"
    threads: 1
    script:
        "../scripts/verify_features.py"
