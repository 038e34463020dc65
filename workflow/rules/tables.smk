"""Run records into summaries, summaries into tables."""


rule summarise_runs:
    input:
        records=lambda w: run_records(w.suite),
        traces=lambda w: spectrum_traces(w.suite),
        code=code("summarise_runs", "sparcl.report.summary"),
    output:
        **{name: f"paper/{{suite}}/summary/{name}.csv" for name in RECORDS},
        metrics="paper/{suite}/summary/metrics.json",
    log:
        "results/logs/summarise_runs/{suite}.log",
    conda:
        "../envs/core.yaml"
    threads: 1
    script:
        "../scripts/summarise_runs.py"


rule summarise_spectra:
    input:
        traces=lambda w: spectrum_traces(w.suite),
        code=code("summarise_spectra", "sparcl.report.summary"),
    output:
        **{name: f"paper/{{suite}}/summary/{name}.csv" for name in TRACES},
    log:
        "results/logs/summarise_spectra/{suite}.log",
    conda:
        "../envs/core.yaml"
    threads: 1
    script:
        "../scripts/summarise_spectra.py"


rule compare_methods:
    input:
        records=lambda w: run_records(w.suite),
        code=code(
            "compare_methods", "sparcl.report.comparison", "sparcl.report.summary"
        ),
    output:
        "paper/{suite}/summary/comparisons.csv",
    log:
        "results/logs/compare_methods/{suite}.log",
    conda:
        "../envs/core.yaml"
    threads: 1
    params:
        spec=lambda w: protocol(w.suite)["compare"],
    script:
        "../scripts/compare_methods.py"


rule write_table:
    input:
        csv=lambda w: frames("tables", w.table, w.suite),
        code=lambda w: code(
            "write_table", module_name("table", w.table, pick("tables", w.table))
        ),
    output:
        multiext("paper/{suite}/tables/{table}", ".tex", ".md"),
        report(
            "paper/{suite}/tables/{table}.csv",
            caption="../report/table.rst",
            category="Tables",
            subcategory="{suite}",
            labels={"table": "{table}"},
        ),
    log:
        "results/logs/write_table/{suite}/{table}.log",
    conda:
        "../envs/core.yaml"
    threads: 1
    params:
        options=lambda w: display("tables", w.table, w.suite),
    script:
        "../scripts/write_table.py"
