"""Training features summed shard by shard, one job each; methods with the key `sums` start from the total.

Sums by class serve every class order, ridge and threshold; sums by session serve one class order and take the memory
of T matrices instead of K.
"""


rule sum_shard:
    input:
        unpack(summed_features),
        unpack(summed_order),
        code=code("sum_shard", "sparcl.app.sums"),
    output:
        "results/sums/{dataset}/{backbone}/{scale}/{by}/{shard}-of-{shards}.npz",
    log:
        "results/logs/sum_shard/{dataset}/{backbone}/{scale}/{by}/{shard}-of-{shards}.log",
    conda:
        "../envs/core.yaml"
    threads: 1
    script:
        "../scripts/sum_shard.py"


rule merge_sums:
    input:
        unpack(lambda w: feature_inputs(w, "train")),
        sums=sums_of_shards,
        code=code("merge_sums", "sparcl.app.sums"),
    output:
        "results/sums/{dataset}/{backbone}/{scale}/{by}.npz",
    log:
        "results/logs/merge_sums/{dataset}/{backbone}/{scale}/{by}.log",
    conda:
        "../envs/core.yaml"
    threads: 1
    script:
        "../scripts/merge_sums.py"


rule run_from_sums:
    input:
        unpack(lambda w: feature_inputs(w, "test")),
        train=lambda w: manifest(w.dataset, w.backbone, "train"),
        order="results/orders/{suite}/{dataset}/{order}.json",
        selection=selection,
        sums=sums_file,
        code=lambda w: code(
            "run_from_sums",
            "sparcl.app.sums",
            "sparcl.protocol.sweep",
            methods.module_name(pick("methods", w.method)["learner"]),
        ),
    output:
        "results/runs/{suite}/{dataset}/{backbone}/{method}/{order}-{seed}.json",
    log:
        "results/logs/run_from_sums/{suite}/{dataset}/{backbone}/{method}/{order}-{seed}.log",
    wildcard_constraints:
        method=one_of(SUMMED),
    conda:
        "../envs/core.yaml"
    threads: 1
    params:
        spec=lambda w: method_spec(w.method) | data_spec(w.suite),
    script:
        "../scripts/run_from_sums.py"
