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


rule judge_claims:
    input:
        csv=claimed_summaries(timings=False),
        timings=ancient(claimed_summaries(timings=True)),
        ledger=LEDGER,
        code=code("judge_claims", "sparcl.claims", "figures.claims_table"),
    output:
        claims_files(),
    log:
        "results/logs/judge_claims.log",
    conda:
        "../envs/core.yaml"
    threads: 1
    params:
        ledger=CLAIMS,
        known={kind: list(config[kind]) for kind in ("datasets", "methods")},
        labels={name: block["label"] for name, block in config["datasets"].items()},
    script:
        "../scripts/judge_claims.py"
