"""Features: bundled and imported ones are verified, others are extracted from images.

The two never write the same file, so a clone without images plans no extraction, and
`snakemake results/features/cub-50/efficientnet-lite0/train.h5` makes a bundled file again.

A data set with `shards: n` in its block is extracted by n jobs a split; the feature file is then a view of theirs.
"""


rule extract_features:
    input:
        split=lambda w: paths.split_list(config, w.dataset),
        code=script_code("extract_features"),
    output:
        features="results/features/{dataset}/{backbone}/{split}.h5",
        manifest="results/features/{dataset}/{backbone}/{split}.json",
    log:
        "results/logs/extract_features/{dataset}/{backbone}/{split}.log",
    wildcard_constraints:
        dataset=one_of(WHOLE),
    conda:
        "../envs/extract.yaml"
    threads: config["extraction"]["threads"]
    resources:
        mem_mb=megabytes(16000),
        runtime=minutes(240),
    params:
        spec=lambda w: specs.extraction(config, w.dataset, w.backbone),
        images=lambda w: stamp(w.dataset),
    script:
        "../scripts/extract_features.py"


rule extract_shard:
    input:
        split=lambda w: paths.split_list(config, w.dataset),
        code=script_code("extract_features"),
    output:
        features="results/features/{dataset}/{backbone}/{split}.shards/{shard}-of-{shards}.h5",
        manifest="results/features/{dataset}/{backbone}/{split}.shards/{shard}-of-{shards}.json",
    log:
        "results/logs/extract_shard/{dataset}/{backbone}/{split}/{shard}-of-{shards}.log",
    wildcard_constraints:
        dataset=one_of(SHARDED),
    conda:
        "../envs/extract.yaml"
    threads: config["extraction"]["threads"]
    resources:
        mem_mb=megabytes(16000),
        runtime=minutes(240),
    params:
        spec=lambda w: specs.extraction(config, w.dataset, w.backbone),
        images=lambda w: stamp(w.dataset),
    script:
        "../scripts/extract_features.py"


rule merge_shards:
    input:
        shards=lambda w: paths.shard_files(config, w.dataset, w.backbone, w.split),
        manifests=lambda w: paths.shard_files(
            config, w.dataset, w.backbone, w.split, "json"
        ),
        code=script_code("merge_shards"),
    output:
        features="results/features/{dataset}/{backbone}/{split}.h5",
        manifest="results/features/{dataset}/{backbone}/{split}.json",
    log:
        "results/logs/merge_shards/{dataset}/{backbone}/{split}.log",
    wildcard_constraints:
        dataset=one_of(SHARDED),
    conda:
        "../envs/core.yaml"
    threads: 1
    resources:
        mem_mb=megabytes(1000, 1),
    script:
        "../scripts/merge_shards.py"


rule list_split:
    input:
        code=script_code("list_split"),
    output:
        list="results/splits/{dataset}.txt",
        hash="results/splits/{dataset}.txt.sha256",
    log:
        "results/logs/list_split/{dataset}.log",
    conda:
        "../envs/extract.yaml"
    threads: 1
    params:
        spec=lambda w: specs.split(config, w.dataset),
        images=lambda w: stamp(w.dataset),
    script:
        "../scripts/list_split.py"


rule verify_features:
    input:
        unpack(lambda w: paths.shard_inputs(config, w.dataset, w.backbone, w.split)),
        features=lambda w: paths.feature_file(config, w.dataset, w.backbone, w.split),
        manifest=lambda w: paths.feature_file(
            config, w.dataset, w.backbone, w.split, "json"
        ),
        code=script_code("verify_features"),
    output:
        "results/verified/{dataset}/{backbone}/{split}.json",
    log:
        "results/logs/verify_features/{dataset}/{backbone}/{split}.log",
    conda:
        "../envs/core.yaml"
    threads: 1
    script:
        "../scripts/verify_features.py"
