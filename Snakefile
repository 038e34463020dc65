"""Features once, then every method over every class order, then tables and figures.

    snakemake --cores 8 all                      the suite that params.yaml names
    snakemake --cores 8 all --config suite=toy   another suite

Results of a run lie in results/ (not in git), what is reported in paper/<suite>/ (in git).
"""

from snakemake.utils import min_version, validate

min_version("9.25")


configfile: "params.yaml"


validate(config, "workflow/schemas/params.schema.yaml")


report: "workflow/report/workflow.rst"


include: "workflow/rules/guard.smk"
include: "workflow/rules/common.smk"
include: "workflow/rules/features.smk"
include: "workflow/rules/runs.smk"
include: "workflow/rules/sums.smk"
include: "workflow/rules/tables.smk"
include: "workflow/rules/figures.smk"
include: "workflow/rules/claims.smk"


# The run records are listed: with the tables alone, file times would decide on a fresh clone
# between running everything and running nothing.
rule all:
    default_target: True
    input:
        run_records(),
        paper_files(),


rule features:
    input:
        feature_manifests(),


rule runs:
    input:
        run_records(),


rule summary:
    input:
        summary_files(),


rule tables:
    input:
        table_files(),


# The suites that params.yaml names under `ablations`, whatever `suite` is.
rule ablations:
    input:
        ablation_files(),


# The suites of every closed-form peer.
rule methods:
    input:
        peer_files(),


# All that paper/ holds beside the default suite: an hour or more.
rule recorded:
    input:
        ablation_files(),
        peer_files(),
        further_files(),
        claims_files(),


# Seconds, measured on this machine: no other rule makes them, and `--force` measures again.
rule timings:
    input:
        timing_files(),


# Each checkable statement of the paper with its verdict, from the summaries of the suites it names.
rule claims:
    input:
        claims_files(),
        claims_figure(),


rule figures:
    input:
        figure_files(),


# From the summaries that are there: `snakemake --cores 1 paper --allowed-rules draw_figure
# write_table` draws without looking at the runs.
rule paper:
    input:
        paper_files(),
