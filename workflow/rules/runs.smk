"""Class orders, hyper-parameter selection, one job a run, and what depends on R and C only."""


rule make_order:
    input:
        unpack(lambda w: paths.order_inputs(config, w.suite, w.dataset, w.order)),
        code=script_code("make_order"),
    output:
        "results/orders/{suite}/{dataset}/{order}.json",
    log:
        "results/logs/make_order/{suite}/{dataset}/{order}.log",
    conda:
        "../envs/core.yaml"
    threads: 1
    resources:
        mem_mb=megabytes(1000, 8),
    params:
        spec=lambda w: specs.order(config, w.suite),
    script:
        "../scripts/make_order.py"


rule select_hyper:
    input:
        unpack(lambda w: paths.feature_inputs(config, w.dataset, w.backbone, "train")),
        order="results/orders/{suite}/{dataset}/{order}.json",
        code=lambda w: method_code("select_hyper", w.method),
    output:
        "results/selection/{suite}/{dataset}/{backbone}/{method}/{order}-{seed}.json",
    log:
        "results/logs/select_hyper/{suite}/{dataset}/{backbone}/{method}/{order}-{seed}.log",
    conda:
        "../envs/core.yaml"
    threads: 1
    resources:
        mem_mb=megabytes(2000, 8),
        runtime=minutes(60),
        gpu=lambda w: specs.gpus(config, w.method),
    params:
        spec=lambda w: specs.selection(config, w.method)
        | specs.data(config, w.suite)
        | specs.solver(config, w.method),
    script:
        "../scripts/select_hyper.py"


rule run_method:
    input:
        unpack(
            lambda w: paths.feature_inputs(
                config, w.dataset, w.backbone, "train", "test"
            )
        ),
        order="results/orders/{suite}/{dataset}/{order}.json",
        selection=lambda w: paths.selection_file(config, **w),
        code=lambda w: method_code("run_method", w.method),
    output:
        "results/runs/{suite}/{dataset}/{backbone}/{method}/{order}-{seed}.json",
    log:
        "results/logs/run_method/{suite}/{dataset}/{backbone}/{method}/{order}-{seed}.log",
    wildcard_constraints:
        method=one_of(FITTED),
    conda:
        "../envs/core.yaml"
    threads: 1
    resources:
        mem_mb=megabytes(2000, 8),
        runtime=minutes(60),
        gpu=lambda w: specs.gpus(config, w.method),
    params:
        spec=lambda w: specs.method(config, w.method)
        | specs.data(config, w.suite)
        | specs.solver(config, w.method),
    script:
        "../scripts/run_method.py"


rule trace_spectrum:
    input:
        unpack(lambda w: paths.feature_inputs(config, w.dataset, w.backbone, "train")),
        order="results/orders/{suite}/{dataset}/{order}.json",
        code=script_code("trace_spectrum"),
    output:
        "results/spectra/{suite}/{dataset}/{backbone}/{order}.json",
    log:
        "results/logs/trace_spectrum/{suite}/{dataset}/{backbone}/{order}.log",
    conda:
        "../envs/core.yaml"
    threads: 1
    resources:
        mem_mb=megabytes(1000, 8),
        runtime=minutes(30),
    params:
        spec=lambda w: config["spectrum"] | specs.data(config, w.suite),
    script:
        "../scripts/trace_spectrum.py"
