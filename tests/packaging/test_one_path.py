"""One code path for all devices: who computes asks nowhere where it is, but for the backends and the way there."""

import ast

from copies import ROOT

PACKAGES = ("algebra", "parts", "learners", "methods", "protocol")
# the shim: one backend for NumPy, one for torch
SHIM = {f"sparcl/algebra/{name}.py" for name in ("backend", "host", "tiles", "tensors")}
# the way there: what a learner keeps moves, or its method says that it cannot
WAY = {("sparcl/learners/learner.py", "check_device")}
ABOUT_PLACES = {"HOST", "cuda", "device", "torch", "ndarray", "is_cuda"}
FILES = sorted(
    path.relative_to(ROOT).as_posix()
    for package in PACKAGES
    for path in (ROOT / "sparcl" / package).rglob("*.py")
)


def decisions(tree: ast.AST) -> list[tuple[str, int]]:
    """Return the functions, with lines, that decide by a device, a namespace, or the kind of an array."""
    found = []
    for function in ast.walk(tree):
        if not isinstance(function, ast.FunctionDef):
            continue
        for node in ast.walk(function):
            tests = [node.test] if isinstance(node, (ast.If, ast.IfExp, ast.While)) else []
            tests += node.ifs if isinstance(node, ast.comprehension) else []
            for test in tests:
                words = {n.id for n in ast.walk(test) if isinstance(n, ast.Name)}
                words |= {n.attr for n in ast.walk(test) if isinstance(n, ast.Attribute)}
                words |= {str(n.value) for n in ast.walk(test) if isinstance(n, ast.Constant)}
                if words & ABOUT_PLACES:
                    found.append((function.name, test.lineno))
    return found


def test_nothing_decides_by_the_device() -> None:
    for file in sorted({*FILES} - SHIM):
        found = decisions(ast.parse((ROOT / file).read_text(encoding="utf-8")))
        assert [place for place in found if (file, place[0]) not in WAY] == [], file


def test_a_decision_is_seen() -> None:
    for line in (
        "if on is HOST: pass",
        "x = 1 if A.device.type == 'cuda' else 2",
        "if isinstance(A, np.ndarray): pass",
        "while device != 'cpu': pass",
    ):
        assert decisions(ast.parse(f"def f():\n    {line}"))
    assert decisions(ast.parse((ROOT / "sparcl/learners/learner.py").read_text(encoding="utf-8")))
    assert SHIM <= set(FILES)
