"""Class orders, hyper-parameter selection, one job a run, and what depends on R and C only."""


rule make_order:
    input:
        unpack(order_features),
        manifest=lambda w: manifest(
            w.dataset, next(iter(members("backbones", w.suite))), "train"
        ),
        code=lambda w: code("make_order", *order_modules(w.suite)),
    output:
        "results/orders/{suite}/{dataset}/{order}.json",
    log:
        "results/logs/make_order/{suite}/{dataset}/{order}.log",
    conda:
        "../envs/core.yaml"
    threads: 1
    params:
        spec=lambda w: {
            key: protocol(w.suite)[key]
            for key in ("sessions", "base_classes", "order_rule", "normalize")
        },
    script:
        "../scripts/make_order.py"


rule select_hyper:
    input:
        unpack(lambda w: feature_inputs(w, "train")),
        order="results/orders/{suite}/{dataset}/{order}.json",
        code=lambda w: method_code(
            "select_hyper", "sparcl.protocol.selection", w.method
        ),
    output:
        "results/selection/{suite}/{dataset}/{backbone}/{method}/{order}-{seed}.json",
    log:
        "results/logs/select_hyper/{suite}/{dataset}/{backbone}/{method}/{order}-{seed}.log",
    conda:
        "../envs/core.yaml"
    threads: 1
    params:
        spec=lambda w: method_spec(w.method)
        | {"selection": selection_spec(w.method)}
        | data_spec(w.suite),
    script:
        "../scripts/select_hyper.py"


rule run_method:
    input:
        unpack(lambda w: feature_inputs(w, "train", "test")),
        order="results/orders/{suite}/{dataset}/{order}.json",
        selection=selection,
        code=lambda w: method_code("run_method", "sparcl.protocol.experiment", w.method),
    output:
        "results/runs/{suite}/{dataset}/{backbone}/{method}/{order}-{seed}.json",
    log:
        "results/logs/run_method/{suite}/{dataset}/{backbone}/{method}/{order}-{seed}.log",
    wildcard_constraints:
        method=one_of(FITTED),
    conda:
        "../envs/core.yaml"
    threads: 1
    params:
        spec=lambda w: method_spec(w.method) | data_spec(w.suite),
    script:
        "../scripts/run_method.py"


rule trace_spectrum:
    input:
        unpack(lambda w: feature_inputs(w, "train")),
        order="results/orders/{suite}/{dataset}/{order}.json",
        code=code(
            "trace_spectrum",
            "sparcl.protocol.diagnostics",
            "sparcl.protocol.stress",
            "sparcl.features.store",
        ),
    output:
        "results/spectra/{suite}/{dataset}/{backbone}/{order}.json",
    log:
        "results/logs/trace_spectrum/{suite}/{dataset}/{backbone}/{order}.log",
    conda:
        "../envs/core.yaml"
    threads: 1
    params:
        spec=lambda w: config["spectrum"] | data_spec(w.suite),
    script:
        "../scripts/trace_spectrum.py"
