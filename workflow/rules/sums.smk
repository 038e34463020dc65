"""Training features summed shard by shard, one job each; methods with the key `sums` start from the total.

Sums by class serve every class order, ridge and threshold; sums by session serve one class order and take the memory
of T matrices instead of K.
"""


def sums_file(wildcards):
    """Return the total that a method starts from."""
    block, suite = pick("methods", wildcards.method), wildcards.suite
    if protocol(suite)["stress"] != "none" or block.get("features", "last") != "last":
        raise WorkflowError(
            f"Suite '{suite}', method '{wildcards.method}': its key `sums` wants the features as they were extracted, "
            "but the suite's `stress` or the method's `features` changes them. Leave out one of the two."
        )
    scale = "unit" if protocol(suite)["normalize"] else "raw"
    by = {"classes": "classes", "sessions": f"{suite}-{wildcards.order}"}[block["sums"]]
    return f"results/sums/{wildcards.dataset}/{wildcards.backbone}/{scale}/{by}.npz"


def summed_order(wildcards):
    """Return the class order by whose sessions is summed, as an input, or nothing."""
    suite, _, order = wildcards.by.rpartition("-")
    path = f"results/orders/{suite}/{wildcards.dataset}/{order}.json"
    return {"order": path} if suite else {}


def summed_features(wildcards):
    """Return one shard of the training features, or all of them, and the manifest that vouches for it."""
    dataset, k, n = wildcards.dataset, int(wildcards.shard), int(wildcards.shards)
    names = dataset, wildcards.backbone, "train"
    if n != number_of_shards(dataset) or not 1 <= k <= n:
        raise WorkflowError(
            f"No shard {k} of {n}: data set '{dataset}' has {number_of_shards(dataset)} (params.yaml, `shards`)."
        )
    if dataset not in SHARDED:
        return {"features": feature_file(*names), "manifest": manifest(*names)}
    kind = {kind: shard_files(*names, kind)[k - 1] for kind in ("h5", "json")}
    voucher = manifest(*names) if is_bundled(dataset) else kind["json"]
    return {"features": kind["h5"], "manifest": voucher}


def number_of_shards(dataset):
    return config["datasets"][dataset].get("shards", 1)


def sums_of_shards(wildcards):
    n = number_of_shards(wildcards.dataset)
    return [
        "results/sums/{dataset}/{backbone}/{scale}/{by}/".format(**wildcards)
        + f"{k}-of-{n}.npz"
        for k in range(1, n + 1)
    ]


rule sum_shard:
    input:
        unpack(summed_features),
        unpack(summed_order),
        code=code("sum_shard", "sparcl.sums"),
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
        code=code("merge_sums", "sparcl.sums"),
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
            "sparcl.sums",
            "sparcl.sweep",
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
