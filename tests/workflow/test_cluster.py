"""Plans for engines that this machine lacks: profiles/slurm, and profiles/kubernetes on an object storage.

The SLURM profile is run for real by `make test-slurm`. The storage here is a server that answers as S3 does where a
plan asks: is there such a bucket, such an object, and what lies below a prefix.
"""

import re
import threading
from collections.abc import Iterator
from email.utils import formatdate
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit
from xml.sax.saxutils import escape

import pytest
import yaml
from copies import ROOT, TOY, duplicate, edit_params, number_of_jobs, snakemake

BUCKET = "my-bucket"
SLURM = ("--profile", "profiles/slurm")
KUBERNETES = ("--profile", "profiles/kubernetes")
CREDENTIALS = {
    "SNAKEMAKE_STORAGE_S3_ACCESS_KEY": "somebody",
    "SNAKEMAKE_STORAGE_S3_SECRET_KEY": "secret",
}


class Bucket(ThreadingHTTPServer):
    """A bucket with the files of a folder, below the prefix ``sparcl/``."""

    def __init__(self, folder: Path) -> None:
        super().__init__(("127.0.0.1", 0), Answers)
        self.objects = {
            f"sparcl/{path.relative_to(folder).as_posix()}": path.stat()
            for path in sorted(folder.rglob("*"))
            if path.is_file() and ".snakemake" not in path.parts
        }
        self.changed: list[str] = []


class Answers(BaseHTTPRequestHandler):
    """HEAD of the bucket and of objects, and the list below a prefix; anything else is noted."""

    server: Bucket

    def do_HEAD(self) -> None:
        bucket, _, key = unquote(urlsplit(self.path).path).lstrip("/").partition("/")
        stat = self.server.objects.get(key)
        found = bucket == BUCKET and (not key or stat is not None)
        self.send_response(HTTPStatus.OK if found else HTTPStatus.NOT_FOUND)
        if stat is not None:
            self.send_header("Last-Modified", formatdate(stat.st_mtime, usegmt=True))
            self.send_header("Content-Length", str(stat.st_size))
            self.send_header("ETag", '"0"')
        self.end_headers()

    def do_GET(self) -> None:
        prefix = parse_qs(urlsplit(self.path).query).get("prefix", [""])[0]
        entries = "".join(
            f"<Contents><Key>{escape(key)}</Key><Size>{stat.st_size}</Size>"
            f'<LastModified>2026-01-01T00:00:00.000Z</LastModified><ETag>"0"</ETag></Contents>'
            for key, stat in self.server.objects.items()
            if key.startswith(prefix)
        )
        body = (
            f"<ListBucketResult><Name>{BUCKET}</Name><IsTruncated>false</IsTruncated>"
            f"{entries}</ListBucketResult>"
        ).encode()
        self.send_response(HTTPStatus.OK)
        self.send_header("Content-Type", "application/xml")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_PUT(self) -> None:
        self.server.changed.append(self.path)
        self.send_error(HTTPStatus.FORBIDDEN)

    do_POST = do_DELETE = do_PUT

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@pytest.fixture
def bucket(pristine: Path) -> Iterator[Bucket]:
    """Serve a bucket that holds what docs/cluster.md says to upload: the project as git has it."""
    with Bucket(pristine) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield server
        server.shutdown()
        thread.join()


def resources(plan: str) -> dict[str, str]:
    """Return the resources that a plan prints, one job a rule."""
    found = re.findall(
        r"^ *(?:local)?rule (\w+):\n(?: .*\n)*? +resources: (.*)\n", plan, re.MULTILINE
    )
    return dict(found)


def planned_on(folder: Path, *arguments: str) -> str:
    """Return what a profile plans."""
    plan = snakemake(folder, "--dry-run", *arguments)
    assert plan.returncode == 0, plan.stdout
    return plan.stdout


def plan_on_kubernetes(folder: Path, bucket: Bucket) -> CompletedProcess[str]:
    """Plan the suite `toy`; what differs from the profile is where the storage is."""
    host, port = bucket.server_address
    place = ("--storage-s3-endpoint-url", f"http://{host}:{port}")
    return snakemake(folder, "--dry-run", *KUBERNETES, *TOY, *place, **CREDENTIALS)


def test_slurm_asks_for_a_gpu_for_extraction_alone(clone: Path) -> None:
    """Of a whole split or of a shard; there are as many jobs as shards, and what reads a view waits for them."""

    def change(params: dict[str, Any]) -> None:
        params["datasets"]["digits"]["shards"] = 7
        params["suites"]["digits"].update(datasets=["digits", "cifar-100"])

    edit_params(clone, change)
    plan = planned_on(clone, *SLURM, "all", "--config", "suite=digits")
    made = number_of_jobs(plan)
    assert (made["extract_shard"], made["merge_shards"], made["extract_features"]) == (14, 2, 2)
    asked = resources(plan)
    assert {"run_method", "select_hyper", "write_table"} <= set(asked)
    on_gpu = {rule for rule, text in asked.items() if re.search(r"\bgpu=1\b", text)}
    assert on_gpu == {"extract_features", "extract_shard"}
    for rule, text in asked.items():
        assert f"slurm_partition={'gpu' if rule in on_gpu else 'cpu'}" in text
    inputs = re.findall(r"^rule run_method:\n +input: (.*)$", plan, re.MULTILINE)
    shard = "results/features/digits/efficientnet-lite0/test.shards/7-of-7.h5"
    assert any(shard in names for names in inputs)


@pytest.fixture(scope="module")
def on_gpus(pristine: Path, tmp_path_factory: pytest.TempPathFactory) -> str:
    """Return the plan of the suite `toy` whose runs are on a GPU."""
    folder = duplicate(pristine, tmp_path_factory.mktemp("gpu") / "clone")
    edit_params(folder, lambda params: params["solver"].update(device="cuda"))
    partitions = (f"{rule}:slurm_partition=gpu" for rule in ("run_method", "select_hyper"))
    return planned_on(folder, *SLURM, *TOY, "--set-resources", *partitions)


def test_runs_on_a_gpu_ask_for_one_and_other_runs_do_not(on_gpus: str) -> None:
    asked = resources(on_gpus)
    on_gpu = {rule for rule, text in asked.items() if re.search(r"\bgpu=1\b", text)}
    assert on_gpu == {"run_method", "select_hyper"} & set(asked) and "run_method" in on_gpu
    assert all("slurm_partition=gpu" in asked[rule] for rule in on_gpu)
    runs = re.findall(r"^ *rule run_method:\n(?: .*\n)*", on_gpus, re.MULTILINE)
    jobs_of = {
        (re.search(r"method=([\w-]+)", run)[1], "gpu=" in run)  # type: ignore[index]
        for run in runs
    }
    methods = {method for method, _ in jobs_of}
    assert "ncm" in methods and jobs_of == {(m, m != "ncm") for m in methods}


def test_every_rule_that_a_profile_names_exists() -> None:
    rules = set(
        re.findall(
            r"^rule (\w+):",
            "".join(p.read_text(encoding="utf-8") for p in (ROOT / "workflow/rules").glob("*.smk")),
            re.MULTILINE,
        )
    )
    for name in ("slurm", "kubernetes"):
        profile = yaml.safe_load((ROOT / f"profiles/{name}/config.yaml").read_text("utf-8"))
        assert set(profile["set-resources"]) | set(profile.get("groups", {})) <= rules


def test_kubernetes_plans_what_slurm_does(pristine: Path, bucket: Bucket, on_gpus: str) -> None:
    plan = plan_on_kubernetes(pristine, bucket)
    assert plan.returncode == 0, plan.stdout
    assert (
        number_of_jobs(plan.stdout) == number_of_jobs(on_gpus)
        and number_of_jobs(on_gpus)["run_method"] == 3
    )
    assert f"s3://{BUCKET}/sparcl/data/features/cub-50/vit-s14-focus/train.h5" in plan.stdout
    assert f"s3://{BUCKET}/sparcl/paper/toy/tables/main.csv" in plan.stdout
    assert bucket.changed == []


def test_kubernetes_says_what_the_bucket_lacks(pristine: Path, bucket: Bucket) -> None:
    """The plan rests on the storage: what was not uploaded is named."""
    lost = "sparcl/data/features/cub-50/vit-s14-focus/train.h5"
    del bucket.objects[lost]
    plan = plan_on_kubernetes(pristine, bucket)
    assert plan.returncode != 0
    assert "MissingInputException" in plan.stdout and lost in plan.stdout
