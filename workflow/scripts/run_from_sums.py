"""Run one method over one class order from the sums of the training samples and write the record."""

from sparcl.app.sums_file import SumsFile
from sparcl.base.files import read_json
from sparcl.features import matching
from sparcl.protocol import sweep
from study.jobs import Job
from study.pipeline import adapter


def main(snakemake) -> None:
    job, train = Job.read(snakemake), read_json(snakemake.input.train_manifest)
    matching.check_path(snakemake.input.train_manifest, train, job.names, "train")
    summed = SumsFile.load(snakemake.input.sums)
    summed.check_test(snakemake.input.test, snakemake.input.manifests[0])
    (test,), device = job.splits(), job.spec.get("device", "cpu")
    record = sweep.run(summed.sums, test, job.sessions, job.spec["learner"], job.hyper, device)
    hashes = {"train_sha256": train["arrays"]["features"]["sha256"]}
    job.write(snakemake.output[0], record, **hashes, weights_sha256=train["weights_sha256"])


if __name__ == "__main__":
    with adapter.logged(snakemake.log):  # noqa: F821
        main(snakemake)  # noqa: F821
