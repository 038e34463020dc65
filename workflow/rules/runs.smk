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
        orders=lambda w: plan.order_files(config, w.suite, w.dataset),
    output:
        directory("results/selection/{suite}/{dataset}/{backbone}/{method}"),
    log:
        "results/logs/select_hyper/{suite}/{dataset}/{backbone}/{method}.log",
    conda:
        "../envs/core.yaml"
    threads: 1
    resources:
        mem_mb=megabytes(2000, 8),
        runtime=minutes_a_stream(60),
        gpu=lambda w: specs.gpus(config, w.method),
    params:
        spec=lambda w: specs.selection(config, w.method)
        | specs.data(config, w.suite)
        | specs.solver(config, w.method),
        orders=lambda w: plan.streams(config, w.suite),
        code=lambda w: method_code("select_hyper", w.method),
    script:
        "../scripts/select_hyper.py"


rule run_method:
    input:
        unpack(
            lambda w: paths.feature_inputs(
                config, w.dataset, w.backbone, "train", "test"
            )
        ),
        orders=lambda w: plan.order_files(config, w.suite, w.dataset),
        selection=lambda w: paths.selections(config, **w),
    output:
        directory("results/runs/{suite}/{dataset}/{backbone}/{method}"),
    log:
        "results/logs/run_method/{suite}/{dataset}/{backbone}/{method}.log",
    wildcard_constraints:
        method=one_of(FITTED),
    conda:
        "../envs/core.yaml"
    threads: 1
    resources:
        mem_mb=megabytes(2000, 8),
        runtime=minutes_a_stream(60),
        gpu=lambda w: specs.gpus(config, w.method),
    params:
        spec=lambda w: specs.method(config, w.method)
        | specs.data(config, w.suite)
        | specs.solver(config, w.method),
        orders=lambda w: plan.streams(config, w.suite),
        code=lambda w: method_code("run_method", w.method),
    script:
        "../scripts/run_method.py"


rule trace_spectrum:
    input:
        unpack(lambda w: paths.feature_inputs(config, w.dataset, w.backbone, "train")),
        orders=lambda w: plan.order_files(config, w.suite, w.dataset),
    output:
        directory("results/spectra/{suite}/{dataset}/{backbone}"),
    log:
        "results/logs/trace_spectrum/{suite}/{dataset}/{backbone}.log",
    priority: 1  # the longest jobs: at the end of a run they would keep one core waiting
    conda:
        "../envs/core.yaml"
    threads: 1
    resources:
        mem_mb=megabytes(1000, 8),
        runtime=minutes_a_stream(30),
    params:
        spec=lambda w: config["spectrum"] | specs.data(config, w.suite),
        orders=lambda w: plan.traced(config, w.suite),
        code=code_hash("trace_spectrum"),
    script:
        "../scripts/trace_spectrum.py"
