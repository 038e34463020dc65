"""Run records into summaries, summaries into tables."""


rule summarise_runs:
    input:
        records=lambda w: plan.job_outputs(config, w.suite),
        traces=lambda w: plan.spectrum_traces(config, w.suite),
        code=script_code("summarise_runs"),
    output:
        **{name: f"paper/{{suite}}/summary/{name}.csv" for name in plan.RECORDS},
        metrics="paper/{suite}/summary/metrics.json",
    log:
        "results/logs/summarise_runs/{suite}.log",
    wildcard_constraints:
        suite=one_of(
            [s for s in config["suites"] if s not in plan.stressed_suites(config)]
        ),
    conda:
        "../envs/core.yaml"
    threads: 1
    script:
        "../scripts/summarise_runs.py"


rule summarise_spectra:
    input:
        traces=lambda w: plan.spectrum_traces(config, w.suite),
        code=script_code("summarise_spectra"),
    output:
        **{name: f"paper/{{suite}}/summary/{name}.csv" for name in plan.TRACES},
    log:
        "results/logs/summarise_spectra/{suite}.log",
    conda:
        "../envs/core.yaml"
    threads: 1
    script:
        "../scripts/summarise_spectra.py"


rule summarise_orders:
    input:
        orders=lambda w: [
            path
            for dataset in config["suites"][w.suite]["datasets"]
            for path in plan.order_files(config, w.suite, dataset)
        ],
        code=script_code("summarise_orders"),
    output:
        **{name: f"paper/{{suite}}/summary/{name}.csv" for name in plan.ORDERED},
    log:
        "results/logs/summarise_orders/{suite}.log",
    wildcard_constraints:
        suite=one_of(plan.ordered_suites(config)),
    conda:
        "../envs/core.yaml"
    threads: 1
    script:
        "../scripts/summarise_orders.py"


rule compare_methods:
    input:
        records=lambda w: plan.job_outputs(config, w.suite),
        manifests=lambda w: plan.feature_manifests(config, w.suite, ["test"]),
        code=script_code("compare_methods"),
    output:
        "paper/{suite}/summary/differences.csv",
    log:
        "results/logs/compare_methods/{suite}.log",
    wildcard_constraints:
        suite=one_of(config["suites"]),
    conda:
        "../envs/core.yaml"
    threads: 1
    params:
        spec=lambda w: specs.comparison(config, w.suite),
    script:
        "../scripts/compare_methods.py"


rule write_table:
    input:
        csv=lambda w: frames("tables", w.table, w.suite),
        code=lambda w: script_code(
            "write_table", module_name("table", w.table, config["tables"][w.table])
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
        options=lambda w: displays.display(config, "tables", w.table, w.suite),
    script:
        "../scripts/write_table.py"
