"""Run records into summaries, summaries into tables."""


rule summarise_runs:
    input:
        records=run_records(),
        code=code("summarise_runs", "sparcl.summary"),
    output:
        runs="paper/{suite}/summary/runs.csv",
        sessions="paper/{suite}/summary/sessions.csv",
    log:
        "results/logs/summarise_runs/{suite}.log",
    conda:
        "../envs/core.yaml"
    threads: 1
    script:
        "../scripts/summarise_runs.py"


rule summarise_spectra:
    input:
        traces=spectrum_traces(),
        code=code("summarise_spectra", "sparcl.summary"),
    output:
        "paper/{suite}/summary/spectrum.csv",
    log:
        "results/logs/summarise_spectra/{suite}.log",
    conda:
        "../envs/core.yaml"
    threads: 1
    script:
        "../scripts/summarise_spectra.py"


rule write_table:
    input:
        csv=lambda w: frames("tables", w.table),
        code=lambda w: code("write_table", f"figures.{w.table.replace('-', '_')}_table"),
    output:
        multiext("paper/{suite}/tables/{table}", ".tex", ".md", ".csv"),
    log:
        "results/logs/write_table/{suite}/{table}.log",
    conda:
        "../envs/core.yaml"
    threads: 1
    params:
        options=lambda w: display("tables", w.table),
    script:
        "../scripts/write_table.py"
