"""pyproject.toml is the one list of dependencies; locks and conda files say the same."""

import re
import tomllib

import yaml
from copies import ROOT
from packaging.requirements import Requirement

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
EXTRAS = tuple(PROJECT["optional-dependencies"])
TORCH = {"onnx", "timm", "torch", "torchvision"}


def locked_lines(name: str) -> list[tuple[str, list[str]]]:
    """Return each line of a lock file, continued lines joined, with its hashes apart."""
    text = (ROOT / "requirements" / f"{name}.txt").read_text(encoding="utf-8")
    lines = text.replace("\\\n", "").splitlines()
    return [(line.split(" --hash=")[0].strip(), line.split(" --hash=")[1:]) for line in lines]


def lock(name: str) -> dict[str, str]:
    """Package -> locked line."""
    return {Requirement(line).name: line for line, _ in locked_lines(name)}


def declared(*extras: str) -> list[Requirement]:
    lines = list(PROJECT["dependencies"])
    for extra in extras:
        lines += PROJECT["optional-dependencies"][extra]
    return [Requirement(line) for line in lines]


def conda_file(path: str) -> list[str]:
    """Return what pip installs into a conda environment whose Python is the locks' own."""
    python, pip, block = yaml.safe_load((ROOT / path).read_text(encoding="utf-8"))["dependencies"]
    (wanted,) = re.findall(r"--python-version ([\d.]+)", (ROOT / "Makefile").read_text("utf-8"))
    assert (python, pip) == (f"python={wanted}", "pip")
    return list(block["pip"])


def test_locks_hold_exact_versions_with_hashes_and_nothing_else() -> None:
    for name in ("core", "all"):
        for line, hashes in locked_lines(name):
            requirement = Requirement(line)
            assert requirement.url is None, line
            assert re.fullmatch(r"==[\w.]+", str(requirement.specifier)), line
            assert line.startswith(requirement.name), line
            assert hashes, line
            assert all(re.fullmatch(r"sha256:[0-9a-f]{64} *", text) for text in hashes), line
        assert len(lock(name)) == len(locked_lines(name)), "a package is locked twice"


def test_whoever_installs_a_lock_asks_for_its_hashes() -> None:
    """A lock whose hashes are left out by accident would otherwise install like any list."""
    installs = [
        line
        for page in ("Makefile", "README.md", *(p for p in (ROOT / "docs").glob("*.md")))
        for line in (ROOT / page).read_text(encoding="utf-8").splitlines()
        if re.search(r"(pip install|INSTALL\)) .*requirements/", line)
    ]
    assert len(installs) > 2
    assert [line for line in installs if " --require-hashes " not in line] == []


def test_locks_meet_what_is_declared() -> None:
    for name, extras in (("core", ("pipeline",)), ("all", EXTRAS)):
        locked = {package: Requirement(line) for package, line in lock(name).items()}
        for requirement in declared(*extras):
            version = str(locked[requirement.name].specifier).removeprefix("==")
            assert requirement.specifier.contains(version), f"{requirement}, locked {version}"


def test_core_lock_is_part_of_the_full_lock_and_can_build_the_package() -> None:
    core = lock("core")
    assert core.items() <= lock("all").items()
    assert not TORCH & set(core)
    assert "setuptools" in core, "`make results` builds without isolation"


def test_conda_files_say_the_same() -> None:
    """The whole lock, and of what jobs import the versions of the lock."""
    assert conda_file("environment.yml") == ["--requirement requirements/all.txt"]
    for name, extras in (("core", ("pipeline",)), ("extract", ("pipeline", "extract"))):
        needed = {requirement.name for requirement in declared(*extras)}
        versions = sorted(lock("all")[package] for package in needed)
        assert conda_file(f"workflow/envs/{name}.yaml") == versions, name
