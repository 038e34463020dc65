"""Methods that train the network: from images to the same run records, and what their training showed.

A job that is killed resumes after its last finished session: its checkpoint lies beside the record until that is written.
"""


rule train_method:
    input:
        split=lambda w: paths.split_list(config, w.dataset),
        order="results/orders/{suite}/{dataset}/{order}.json",
        code=lambda w: script_code(
            "train_method", *learner_modules(config["methods"][w.method])
        ),
    output:
        "results/runs/{suite}/{dataset}/{backbone}/{method}/{order}-{seed}.json",
    log:
        "results/logs/train_method/{suite}/{dataset}/{backbone}/{method}/{order}-{seed}.log",
    wildcard_constraints:
        method=one_of(TRAINED),
    conda:
        "../envs/extract.yaml"
    threads: config["extraction"]["threads"]
    resources:
        mem_mb=megabytes(16000),
        runtime=minutes(240),
        gpu=lambda w: specs.training_gpus(config, w.suite),
    params:
        spec=lambda w: specs.training(config, w.suite, w.dataset, w.backbone, w.method),
        images=lambda w: stamp(w.dataset),
    script:
        "../scripts/train_method.py"


rule summarise_training:
    input:
        records=lambda w: plan.trained_records(config, w.suite),
        code=script_code("summarise_training"),
    output:
        **{name: f"paper/{{suite}}/summary/{name}.csv" for name in plan.TRAINING},
    log:
        "results/logs/summarise_training/{suite}.log",
    wildcard_constraints:
        suite=one_of(plan.trained_suites(config)),
    conda:
        "../envs/core.yaml"
    threads: 1
    script:
        "../scripts/summarise_training.py"
