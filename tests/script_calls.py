"""The workflow's scripts without Snakemake: each is a function of one object with a few attributes."""

import importlib.util
from types import SimpleNamespace
from typing import Any

from copies import ROOT

SCRIPTS = ROOT / "workflow/scripts"


class Given(SimpleNamespace):
    """Inputs, outputs or wildcards: attributes by name, a mapping, and numbers for the values in their order."""

    def __getitem__(self, key: int | str) -> Any:
        return vars(self)[key] if isinstance(key, str) else list(vars(self).values())[key]

    def __len__(self) -> int:
        return len(vars(self))

    def keys(self) -> Any:
        return vars(self).keys()

    def get(self, key: str) -> Any:
        return vars(self).get(key)


def call(
    script: str,
    inputs: Any,
    output: Any,
    wildcards: dict[str, str],
    config: dict[str, Any] | None = None,
    **params: Any,
) -> None:
    """Call a script's main as its rule would."""
    spec = importlib.util.spec_from_file_location(script, SCRIPTS / f"{script}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    given = {"input": inputs, "output": output, "wildcards": Given(**wildcards), "config": config}
    params = {"code": ""} | params
    module.main(SimpleNamespace(**given, params=SimpleNamespace(**params), log=["log"], threads=1))
