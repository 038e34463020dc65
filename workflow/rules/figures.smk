"""Summaries into figures: one rule for all of them."""


rule draw_figure:
    input:
        csv=lambda w: frames("figures", w.figure, w.suite),
        code=lambda w: script_code(
            "draw_figure", module_name("figure", w.figure, config["figures"][w.figure])
        ),
    output:
        "paper/{suite}/figures/{figure}.pdf",
        report(
            "paper/{suite}/figures/{figure}.png",
            caption="../report/figure.rst",
            category="Figures",
            subcategory="{suite}",
            labels={"figure": "{figure}"},
        ),
        "paper/{suite}/figures/{figure}.svg",
    log:
        "results/logs/draw_figure/{suite}/{figure}.log",
    conda:
        "../envs/core.yaml"
    threads: 1
    params:
        options=lambda w: displays.display(config, "figures", w.figure, w.suite),
    script:
        "../scripts/draw_figure.py"
