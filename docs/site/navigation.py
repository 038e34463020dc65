"""The pages of tables in the navigation, by part and suite: a hook that mkdocs.yml names."""

import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))
from gather import ROOT, load, shown


def on_config(config: Any) -> Any:
    """Put the tables below the page that lists them."""
    settings = load(ROOT)
    entries: list[Any] = ["docs/tables.md"]
    for name, suites in shown(settings, "tables").items():
        pages = []
        for suite, files in suites.items():
            title = settings["suites"][suite]["title"]
            pages.append({title: [{file.stem: file.as_posix()} for file in files]})
        entries.append({name: pages})
    (results,) = (entry["Results"] for entry in config["nav"] if "Results" in entry)
    results[results.index({"Tables": "docs/tables.md"})] = {"Tables": entries}
    return config
