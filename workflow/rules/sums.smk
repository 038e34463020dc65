"""Training features summed shard by shard, one job each; methods with the key `sums` start from the total.

Sums by class serve every class order, ridge and threshold; sums by session serve one class order and take the memory
of T matrices instead of K.
"""


rule sum_shard:
    input:
        unpack(
            lambda w: paths.summed_features(
                config,
                w.dataset,
                w.backbone,
                w.shard,
                w.shards,
            )
        ),
        unpack(lambda w: paths.summed_order(w.dataset, w.by)),
        code=script_code("sum_shard"),
    output:
        "results/sums/{dataset}/{backbone}/{scale}/{by}/{shard}-of-{shards}.npz",
    log:
        "results/logs/sum_shard/{dataset}/{backbone}/{scale}/{by}/{shard}-of-{shards}.log",
    conda:
        "../envs/core.yaml"
    threads: 1
    resources:
        mem_mb=megabytes(2000, 6),
        runtime=minutes(60),
    script:
        "../scripts/sum_shard.py"


rule merge_sums:
    input:
        unpack(lambda w: paths.feature_inputs(config, w.dataset, w.backbone, "train")),
        sums=lambda w: paths.sums_of_shards(config, **w),
        code=script_code("merge_sums"),
    output:
        "results/sums/{dataset}/{backbone}/{scale}/{by}.npz",
    log:
        "results/logs/merge_sums/{dataset}/{backbone}/{scale}/{by}.log",
    conda:
        "../envs/core.yaml"
    threads: 1
    resources:
        mem_mb=megabytes(2000, 1),
        runtime=minutes(60),
    script:
        "../scripts/merge_sums.py"


rule run_from_sums:
    input:
        unpack(lambda w: paths.feature_inputs(config, w.dataset, w.backbone, "test")),
        train_manifest=lambda w: paths.manifest(config, w.dataset, w.backbone, "train"),
        orders=lambda w: plan.order_files(config, w.suite, w.dataset),
        selection=lambda w: paths.selections(config, **w),
        sums=lambda w: paths.sums_files(
            config, w.suite, w.dataset, w.backbone, w.method
        ),
    output:
        directory("results/runs/{suite}/{dataset}/{backbone}/{method}"),
    log:
        "results/logs/run_from_sums/{suite}/{dataset}/{backbone}/{method}.log",
    wildcard_constraints:
        method=one_of(SUMMED),
    conda:
        "../envs/core.yaml"
    threads: 1
    resources:
        mem_mb=megabytes(2000, 4),
        runtime=minutes_a_stream(60),
        gpu=lambda w: specs.gpus(config, w.method),
    params:
        spec=lambda w: specs.method(config, w.method)
        | specs.data(config, w.suite)
        | specs.solver(config, w.method),
        orders=lambda w: plan.streams(config, w.suite),
        code=lambda w: method_code("run_from_sums", w.method),
    script:
        "../scripts/run_from_sums.py"
