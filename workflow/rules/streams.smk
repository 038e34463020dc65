"""Streams that go wrong: one job takes a method over a class order at every rate."""


rule run_stressed:
    input:
        unpack(
            lambda w: paths.feature_inputs(
                config, w.dataset, w.backbone, "train", "test"
            )
        ),
        orders=lambda w: plan.order_files(config, w.suite, w.dataset),
    output:
        directory("results/streams/{suite}/{dataset}/{backbone}/{method}"),
    log:
        "results/logs/run_stressed/{suite}/{dataset}/{backbone}/{method}.log",
    wildcard_constraints:
        suite=one_of(plan.stressed_suites(config)),
        method=one_of(FITTED),
    conda:
        "../envs/core.yaml"
    threads: 1
    resources:
        mem_mb=megabytes(2000, 8),
        runtime=minutes_a_stream(60),
    params:
        spec=lambda w: specs.method(config, w.method) | specs.streams(config, w.suite),
        orders=lambda w: plan.streams(config, w.suite),
        code=lambda w: method_code("run_stressed", w.method),
    script:
        "../scripts/run_stressed.py"


rule summarise_stressed:
    input:
        records=lambda w: plan.job_outputs(config, w.suite),
        code=script_code("summarise_stressed"),
    output:
        **{name: f"paper/{{suite}}/summary/{name}.csv" for name in plan.RATED},
    log:
        "results/logs/summarise_stressed/{suite}.log",
    wildcard_constraints:
        suite=one_of(plan.stressed_suites(config)),
    conda:
        "../envs/core.yaml"
    threads: 1
    script:
        "../scripts/summarise_stressed.py"
