"""The claims ledger: what the paper states, measured on the summaries, judged by code.

Times are measured apart, in timings/: they differ from run to run, accuracies do not. The
ledger takes the times that are there, however old: features that git has just written do not
ask for a second measurement.

The cores are asked for when a measurement is planned: `snakemake --report` needs none.
"""

from study.report.claims import sources

LEDGER = here("docs/claims.yaml")
CLAIMS = ask(configuration.read_yaml, Path(LEDGER))
# What the ledger reads, as far as suites and summaries of that name exist.
CLAIMED = plan.existing(
    config,
    [
        displays.frame_file(f"{suite}/{frame}", suite)
        for suite, frame in sources(CLAIMS)
    ],
)


rule time_methods:
    input:
        unpack(lambda w: timed(w.timing)),
    output:
        "timings/{timing}.csv",
    log:
        "results/logs/time_methods/{timing}.log",
    conda:
        "../envs/core.yaml"
    threads: lambda w: workflow.cores
    params:
        spec=lambda w: specs.timing(config, w.timing),
    script:
        "../scripts/time_methods.py"


# On the streams and of the methods whose times are measured.
rule measure_memory:
    input:
        unpack(lambda w: timed("methods")),
    output:
        "timings/memory.csv",
    log:
        "results/logs/measure_memory.log",
    conda:
        "../envs/core.yaml"
    threads: lambda w: workflow.cores
    params:
        spec=specs.timing(config, "methods"),
    script:
        "../scripts/measure_memory.py"


rule judge_claims:
    input:
        csv=lambda w: unedited(
            [path for path in CLAIMED if not path.startswith("timings/")]
        ),
        timings=ancient([path for path in CLAIMED if path.startswith("timings/")]),
        ledger=LEDGER,
        code=script_code("judge_claims"),
    output:
        multiext("paper/claims/claims", ".tex", ".md", ".csv"),
    log:
        "results/logs/judge_claims.log",
    conda:
        "../envs/core.yaml"
    threads: 1
    params:
        ledger=CLAIMS,
        known={
            "datasets": [
                name
                for name, block in config["datasets"].items()
                if block.get("features") == "bundle"
            ],
            "methods": list(config["methods"]),
        },
        labels={name: block["label"] for name, block in config["datasets"].items()},
    script:
        "../scripts/judge_claims.py"


rule draw_claims:
    input:
        csv=lambda w: frames("figures", "claims", "claims"),
        code=script_code("draw_figure", "figures.claims"),
    output:
        multiext("paper/claims/{figure}", ".pdf", ".png", ".svg"),
    log:
        "results/logs/draw_claims/{figure}.log",
    wildcard_constraints:
        figure="claims",
    conda:
        "../envs/core.yaml"
    threads: 1
    params:
        options=config["figures"]["claims"],
    script:
        "../scripts/draw_figure.py"
