"""The claims ledger: what the paper states, measured on the summaries, judged by code.

Times are measured apart, in timings/: they differ from run to run, accuracies do not. The
ledger takes the times that are there, however old: features that git has just written do not
ask for a second measurement.
"""


rule time_methods:
    input:
        unpack(
            lambda w: {
                dataset: ancient(
                    feature_file(
                        dataset, config["timings"][w.timing]["backbone"], "train"
                    )
                )
                for dataset in config["timings"][w.timing]["datasets"]
            }
        ),
    output:
        "timings/{timing}.csv",
    log:
        "results/logs/time_methods/{timing}.log",
    conda:
        "../envs/core.yaml"
    threads: workflow.cores
    params:
        spec=lambda w: config["timings"][w.timing],
    script:
        "../scripts/time_methods.py"


# On the streams and of the methods whose times are measured.
rule measure_memory:
    input:
        unpack(
            lambda w: {
                dataset: ancient(
                    feature_file(
                        dataset, config["timings"]["methods"]["backbone"], "train"
                    )
                )
                for dataset in config["timings"]["methods"]["datasets"]
            }
        ),
    output:
        "timings/memory.csv",
    log:
        "results/logs/measure_memory.log",
    conda:
        "../envs/core.yaml"
    threads: workflow.cores
    params:
        spec=config["timings"]["methods"],
    script:
        "../scripts/measure_memory.py"


rule judge_claims:
    input:
        csv=claimed_summaries(timings=False),
        timings=ancient(claimed_summaries(timings=True)),
        ledger=LEDGER,
        code=code("judge_claims", "sparcl.report.claims", "figures.claims_table"),
    output:
        claims_files(),
    log:
        "results/logs/judge_claims.log",
    conda:
        "../envs/core.yaml"
    threads: 1
    params:
        ledger=CLAIMS,
        known={
            "datasets": [name for name in config["datasets"] if is_bundled(name)],
            "methods": list(config["methods"]),
        },
        labels={name: block["label"] for name, block in config["datasets"].items()},
    script:
        "../scripts/judge_claims.py"


rule draw_claims:
    input:
        csv=frames("figures", "claims", "claims"),
        code=code("draw_figure", "figures.claims"),
    output:
        multiext("paper/claims/{figure}", ".pdf", ".png"),
    log:
        "results/logs/draw_claims/{figure}.log",
    wildcard_constraints:
        figure="claims",
    conda:
        "../envs/core.yaml"
    threads: 1
    params:
        options=pick("figures", "claims"),
    script:
        "../scripts/draw_figure.py"
