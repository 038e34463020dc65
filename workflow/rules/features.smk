"""Features: bundled ones are verified, others are extracted from images.

The two never write the same file, so a clone without images plans no extraction, and
`snakemake results/features/cub-50/efficientnet-lite0/train.h5` makes a bundled file again.
"""


rule extract_features:
    input:
        split=lambda w: split_list(w.dataset),
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
        images=lambda w: folder_stamp(config["datasets"][w.dataset]),
    script:
        "../scripts/extract_features.py"


rule list_split:
    input:
        code=code("list_split", "sparcl.features.datasets"),
    output:
        list="results/splits/{dataset}.txt",
        hash="results/splits/{dataset}.txt.sha256",
    log:
        "results/logs/list_split/{dataset}.log",
    conda:
        "../envs/extract.yaml"
    threads: 1
    params:
        spec=split_spec,
        images=lambda w: folder_stamp(config["datasets"][w.dataset]),
    script:
        "../scripts/list_split.py"


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
