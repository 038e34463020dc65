"""The claims ledger: what the paper states, measured on the summaries, judged by code.

Times are measured apart, in paper/timings: they differ from run to run, accuracies do not. The
ledger takes the times that are there, however old.
"""

import yaml

from sparcl.claims import sources

LEDGER = "docs/claims.yaml"
with open(LEDGER, encoding="utf-8") as file:
    CLAIMS = yaml.safe_load(file)


def claims_files():
    return multiext("paper/claims/claims", ".tex", ".md", ".csv")


def claimed_frame(suite, frame):
    """Return the summary that a claim reads: paper/timings stands beside the suites."""
    return (
        f"paper/{suite}/" + ("" if suite == "timings" else "summary/") + f"{frame}.csv"
    )


def claimed_summaries(timings):
    """Return what the ledger reads, as far as suites and summaries of that name exist."""
    known = {path for suite in config["suites"] for path in summary_files(suite)}
    known |= {"paper/timings/refresh.csv"}
    paths = [claimed_frame(*source) for source in sources(CLAIMS)]
    return [
        p for p in paths if p in known and p.startswith("paper/timings/") == timings
    ]


rule time_refresh:
    input:
        unpack(
            lambda w: {
                dataset: feature_file(dataset, config["timing"]["backbone"], "train")
                for dataset in config["timing"]["datasets"]
            }
        ),
    output:
        "paper/timings/refresh.csv",
    log:
        "results/logs/time_refresh.log",
    conda:
        "../envs/core.yaml"
    threads: workflow.cores
    params:
        spec=config["timing"],
    script:
        "../scripts/time_refresh.py"


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
