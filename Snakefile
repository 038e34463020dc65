"""Features once, then every method over every class order, then tables and figures.

    snakemake --cores 8 all                      the suite that params.yaml names
    snakemake --cores 8 all --config suite=toy   another suite
    snakemake --cores 8 all --configfile my.yaml   other settings: keys of params.yaml, `methods`, `suites`, ...

Results of a run lie in results/ (not in git), what is reported in paper/<suite>/ (in git). Other workflows use this one
as workflow/Snakefile (config/README.md).
"""

from snakemake.utils import min_version

min_version("9.25")


report: "workflow/report/workflow.rst"


include: "workflow/rules/project.smk"
include: "workflow/rules/common.smk"
include: "workflow/rules/guard.smk"
include: "workflow/rules/features.smk"
include: "workflow/rules/runs.smk"
include: "workflow/rules/trained.smk"
include: "workflow/rules/streams.smk"
include: "workflow/rules/sums.smk"
include: "workflow/rules/tables.smk"
include: "workflow/rules/figures.smk"
include: "workflow/rules/claims.smk"


# The run records are listed: with the tables alone, file times would decide on a fresh clone
# between running everything and running nothing.
rule all:
    default_target: True
    input:
        plan.job_outputs(config, SUITE),
        plan.paper_files(config, SUITE),


rule features:
    input:
        plan.feature_manifests(config, SUITE),


rule runs:
    input:
        plan.job_outputs(config, SUITE),


rule summary:
    input:
        plan.summary_files(config, SUITE),


rule tables:
    input:
        plan.table_files(config, SUITE),


# The suites of the group `ablations`, whatever `suite` is.
rule ablations:
    input:
        plan.group_files(config, "ablations"),


# The suites of every closed-form peer.
rule methods:
    input:
        plan.group_files(config, "peers"),


# All that paper/ holds beside the default suite: an hour or more.
rule recorded:
    input:
        plan.group_files(config, "ablations", "peers", "further"),
        rules.judge_claims.output,


# Seconds, measured on this machine: no other rule makes them, and `--force` measures again.
rule timings:
    input:
        plan.timing_files(config),


# Each checkable statement of the paper with its verdict, from the summaries of the suites it names.
rule claims:
    input:
        rules.judge_claims.output,
        multiext("paper/claims/claims", ".pdf", ".png", ".svg"),


rule figures:
    input:
        plan.figure_files(config, SUITE),


# From the summaries that are there: `snakemake --cores 1 paper --allowed-rules draw_figure
# write_table` draws without looking at the runs.
rule paper:
    input:
        plan.paper_files(config, SUITE),
