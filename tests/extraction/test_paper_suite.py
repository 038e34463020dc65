"""Suite `paper`: planned from a bare clone, refused without data, and run end to end on miniatures."""

import hashlib
import re
import shutil
from pathlib import Path

import copies
import miniatures
import pytest
import timm
import torch
import yaml
from own_data import pinned

ROOT = Path(__file__).resolve().parents[2]
CLASSES = 6
HOST = "localhost"
TINY = {"depth": 1, "img_size": 32, "patch_size": 8}  # 192-d, as any ViT-Ti


@pytest.fixture
def clone(tmp_path, monkeypatch):
    """A clone without features, images and results; nothing that an earlier run cached can be seen."""
    for name in ("SPARCL_DATA", "SPARCL_CACHE"):
        monkeypatch.delenv(name, raising=False)
    folder = copies.copy_project(tmp_path / "clone")
    shutil.rmtree(folder / "data")
    return folder


def snakemake(folder, *arguments, **environment):
    """Run snakemake on the clone's code, offline and without the machine's caches."""
    nowhere = f"http://{HOST}:9"  # a port that refuses
    variables = {"http_proxy": nowhere, "https_proxy": nowhere, "HF_HUB_OFFLINE": "1"}
    variables |= {"SPARCL_CACHE": str(folder / "cache"), "OMP_NUM_THREADS": "1"}
    return copies.snakemake(folder, *arguments, **variables | environment)


def files(folder):
    return {
        p.relative_to(folder).as_posix(): p.read_bytes()
        for p in folder.rglob("*")
        if p.is_file() and ".snakemake" not in p.parts and "__pycache__" not in p.parts
    }


def test_planned_from_a_bare_clone(clone, params):
    """And so is `paper-t20`, which has other sessions alone, as the next test says."""
    before = files(clone)
    plan = snakemake(clone, "-n", "--cores", "1", "--config", "suite=paper")
    assert plan.returncode == 0, plan.stdout
    jobs = dict(re.findall(r"^(\w+) +(\d+)$", plan.stdout, flags=re.MULTILINE))
    block = params["suites"]["paper"]
    assert block["datasets"] == ["cifar-100", "cub-200", "imagenet-r", "imagenet-a", "imagenet-100"]
    assert len(block["pairs"]) == 3 and block["normalize"]
    assert int(jobs["run_method"]) == 5 * len(block["methods"])
    assert int(jobs["extract_features"]) == 5 * 2 and int(jobs["list_split"]) == 3
    assert "verify_features" not in jobs and "bundled" not in plan.stdout.replace(
        "suite 'bundled'", ""
    )
    assert files(clone) == before


def test_protocol_of_the_paper(params):
    """T = 10 and 20 on the same sets and methods; ridge 1, tau 0.95, refresh 2; m = 128 and 512."""
    ten, twenty = params["suites"]["paper"], params["suites"]["paper-t20"]
    alike = {"sessions": 20, "title": twenty["title"]}
    assert ten | alike == twenty and ten["sessions"] == 10
    methods = params["methods"]
    printed = {"ridge": 1.0, "tau": 0.95, "refresh": 2}
    assert methods["sparcl-paper"]["hyper"] == printed
    assert methods["sparcl-alg1-paper"]["hyper"] == printed | {"m": 128}
    assert methods["sparcl-alg1-m512"]["hyper"] == printed | {"m": 512}
    assert methods["acil-paper"]["hyper"] == {"ridge": 1.0}
    assert methods["ranpac-paper"]["hyper"] == {"ridges": "ranpac", "width": 10000}
    assert set(ten["methods"]) <= set(methods)


@pytest.mark.slow
def test_without_images_it_refuses(clone, params):
    """It neither borrows the bundled sets nor leaves anything that looks like a result."""
    shutil.copytree(ROOT / "data", clone / "data")
    bundle = files(clone / "data")
    run = snakemake(
        clone, "--cores", "2", "--config", "suite=paper", SPARCL_DATA=str(clone / "none")
    )
    assert run.returncode != 0
    for name in ("cifar-100", "cub-200", "imagenet-r", "imagenet-a"):
        archive = re.escape(params["datasets"][name]["archive"])
        said = rf"DatasetError: .*could not download .*{archive}.*SPARCL_DATA"
        assert re.search(said, run.stdout), archive
    assert re.search(
        r"DatasetError: imagenet-100: no .*imagenet exists\. Put imagenet/ \(a folder\)", run.stdout
    )
    assert not list(clone.glob("results/**/*.h5")) and not (clone / "results" / "runs").exists()
    assert not (clone / "paper").exists()
    assert files(clone / "data") == bundle


def make_images(place, changes, params):
    """Miniature archives in their layouts; their md5 and counts go into `changes`."""
    wnids = [f"n0{c:07d}" for c in range(CLASSES)]
    words = ["apple", "bear", "chair", "dolphin", "elm", "train"]
    archives = {
        "cifar-100": (miniatures.cifar100(words, 10, 3), 60, 18),
        "cub-200": (miniatures.cub(CLASSES, 12, 6), 58, 14),
        "imagenet-r": (miniatures.imagenet_r(wnids, 12), 58, 14),
        "imagenet-a": (miniatures.imagenet_a(wnids, [9, 10, 11, 12, 13, 14]), 55, 14),
    }
    for name, (members, train, test) in archives.items():
        block = params["datasets"][name]
        md5 = miniatures.pack(place / block["archive"], block["folder"], members)
        counts = {"train": train, "test": test}
        changes["datasets"][name] = {"md5": md5, "classes": CLASSES, "counts": counts}
    for split, images in (("train", range(10)), ("val", range(10, 13))):
        for c, wnid in enumerate([*wnids, "n09999999"]):
            names = {f"{wnid}_{split}_{i}.JPEG": miniatures.jpeg(900 + 20 * c + i) for i in images}
            miniatures.unpack(place / "imagenet" / split / wnid, names)
    counts = {"train": 60, "test": 18}
    changes["datasets"]["imagenet-100"] = {
        "class_list": wnids,
        "classes": CLASSES,
        "counts": counts,
    }


@pytest.fixture
def settings(clone, tmp_path):
    """What a file of overrides says: tiny network, miniature images, few sessions."""
    torch.manual_seed(0)
    weights = tmp_path / "tiny.pth"
    torch.save(timm.create_model("vit_tiny_patch16_224", **TINY).state_dict(), weights)
    network = {"timm_id": "vit_tiny_patch16_224", "timm_args": TINY, "blocks": [1]}
    network |= {"weights": pinned(weights)}
    return {
        "datasets": {},
        "backbones": {"vit-b16-in21k": network, "efficientnet-lite0": network | {"size": 32}},
        "suites": {
            "paper": {"sessions": 3, "pairs": [[1993, 0]]},
            "paper-t20": {"sessions": 3},
            "paper-trained": {"sessions": 3},
            "digits": {"pairs": [[1993, 0]]},
        },
        "methods": {
            "ranpac-paper": {"hyper": {"width": 300}},
            "sparcl-alg1-m512": {"hyper": {"m": 20}},
            "sparcl-alg1-paper": {"hyper": {"m": 10}},
        },
        "selection": {"sub_sessions": 2, "grid": {"ridge": [0.1, 1.0], "tau": [0.7, 0.95]}},
        "extraction": {"device": "cpu"},
    }


def run(clone, settings, suite, **environment):
    (clone / "more.yaml").write_text(yaml.safe_dump(settings))
    more = ("--configfile", "params.yaml", "more.yaml")
    return snakemake(clone, "--cores", "2", *more, "--config", f"suite={suite}", **environment)


@pytest.mark.slow
def test_end_to_end_on_miniature_archives(clone, settings, tmp_path, params):
    place = tmp_path / "images"
    make_images(place, settings, params)
    done = run(clone, settings, "paper", SPARCL_DATA=str(place))
    assert done.returncode == 0, done.stdout[-6000:]
    table = (clone / "paper" / "paper" / "tables" / "main.md").read_text()
    for dataset in params["suites"]["paper"]["datasets"]:
        assert params["datasets"][dataset]["label"] in table
    runs = (clone / "paper" / "paper" / "summary" / "runs.csv").read_text().splitlines()
    assert len(runs) == 1 + 5 * len(params["suites"]["paper"]["methods"])
    for name in ("dilution", "drift", "sessions"):
        assert (clone / "paper" / "paper" / "figures" / f"{name}.pdf").stat().st_size > 1000
    for dataset in ("cub-200", "imagenet-r", "imagenet-a"):
        listed = (clone / "results" / "splits" / f"{dataset}.txt").read_bytes()
        digest = hashlib.sha256(listed).hexdigest()
        for split in ("train", "test"):
            manifest = clone / "results" / "features" / dataset / "vit-b16-in21k" / f"{split}.json"
            assert f'"split_sha256": "{digest}"' in manifest.read_text()
    assert not (clone / "paper" / "bundled").exists()
    again = run(clone, settings, "paper", SPARCL_DATA=str(tmp_path / "moved"))
    assert again.returncode == 0 and "Nothing to be done" in again.stdout, again.stdout[-3000:]


@pytest.mark.slow
def test_one_block_of_own_images_down_to_a_table(clone, settings, tmp_path):
    """`mybirds: {reader: folder, root: ...}`, nothing else; a new image is noticed."""
    for c in range(5):
        names = {f"{i}.jpg": miniatures.jpeg(50 * c + i) for i in range(12)}
        miniatures.unpack(tmp_path / "birds" / f"bird {c}", names)
    settings["datasets"]["mybirds"] = {"reader": "folder", "root": str(tmp_path / "birds")}
    settings["selection"]["sub_sessions"] = 2
    settings["suites"]["digits"] |= {"sessions": 2}
    done = run(clone, settings, "mybirds")
    assert done.returncode == 0, done.stdout[-6000:]
    assert "mybirds" in (clone / "paper" / "mybirds" / "tables" / "main.md").read_text()
    assert "Nothing to be done" in run(clone, settings, "mybirds").stdout
    miniatures.unpack(tmp_path / "birds" / "bird 0", {"new.jpg": miniatures.jpeg(999)})
    (clone / "more.yaml").write_text(yaml.safe_dump(settings))
    more = ("--configfile", "params.yaml", "more.yaml")
    plan = snakemake(clone, "-n", "--cores", "1", *more, "--config", "suite=mybirds")
    assert re.search(r"extract_features +2", plan.stdout), plan.stdout[-3000:]
