"""docs/library.md, run as one program in a folder with the bundled features: it prints what the page says."""

import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs/library.md").read_text(encoding="utf-8")


def test_the_page_prints_what_it_says(tmp_path: Path) -> None:
    blocks = re.findall(r"^```(python|text)\n(.*?)^```", PAGE, flags=re.MULTILINE | re.DOTALL)
    program = "".join(text for kind, text in blocks if kind == "python")
    (tmp_path / "data").symlink_to(ROOT / "data")
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", program],
        cwd=tmp_path,
        env=os.environ | {"OPENBLAS_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == "".join(text for kind, text in blocks if kind == "text")
