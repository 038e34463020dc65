"""Class orders, hyper-parameter selection, one job a run, and the spectrum of one order."""


rule make_order:
    input:
        manifest=lambda w: manifest(w.dataset, next(iter(BACKBONES)), "train"),
        code=code("make_order", "sparcl.stream", "sparcl.files"),
    output:
        "results/orders/{suite}/{dataset}/{order}.json",
    log:
        "results/logs/make_order/{suite}/{dataset}/{order}.log",
    conda:
        "../envs/core.yaml"
    threads: 1
    params:
        spec={key: PROTOCOL[key] for key in ("sessions", "base_classes")},
    script:
        "../scripts/make_order.py"


rule select_hyper:
    input:
        unpack(lambda w: feature_inputs(w, "train")),
        order="results/orders/{suite}/{dataset}/{order}.json",
        code=lambda w: method_code("select_hyper", "sparcl.selection", w.method),
    output:
        "results/selection/{suite}/{dataset}/{backbone}/{method}/{order}-{seed}.json",
    log:
        "results/logs/select_hyper/{suite}/{dataset}/{backbone}/{method}/{order}-{seed}.log",
    conda:
        "../envs/core.yaml"
    threads: 1
    params:
        spec=lambda w: method_spec(w.method)
        | {"selection": selection_spec(w.method), "normalize": PROTOCOL["normalize"]},
    script:
        "../scripts/select_hyper.py"


rule run_method:
    input:
        unpack(lambda w: feature_inputs(w, "train", "test")),
        order="results/orders/{suite}/{dataset}/{order}.json",
        selection=selection,
        code=lambda w: method_code("run_method", "sparcl.experiment", w.method),
    output:
        "results/runs/{suite}/{dataset}/{backbone}/{method}/{order}-{seed}.json",
    log:
        "results/logs/run_method/{suite}/{dataset}/{backbone}/{method}/{order}-{seed}.log",
    conda:
        "../envs/core.yaml"
    threads: 1
    params:
        spec=lambda w: method_spec(w.method) | {"normalize": PROTOCOL["normalize"]},
    script:
        "../scripts/run_method.py"


rule trace_spectrum:
    input:
        unpack(lambda w: feature_inputs(w, "train")),
        order="results/orders/{suite}/{dataset}/{order}.json",
        code=code(
            "trace_spectrum",
            "sparcl.diagnostics",
            "sparcl.experiment",
            "sparcl.features.store",
        ),
    output:
        "results/spectra/{suite}/{dataset}/{backbone}/{order}.json",
    log:
        "results/logs/trace_spectrum/{suite}/{dataset}/{backbone}/{order}.log",
    conda:
        "../envs/core.yaml"
    threads: 1
    params:
        spec=config["spectrum"] | {"normalize": PROTOCOL["normalize"]},
    script:
        "../scripts/trace_spectrum.py"
