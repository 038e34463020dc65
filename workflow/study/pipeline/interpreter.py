"""Whether Snakemake can start jobs, judged by the paths of the interpreter and of the project.

The Makefile asks before it installs anything, so this file needs no package:
``python -m study.pipeline.interpreter PATH``, started in the project's folder, ends with the reason, if there is one.
"""

import os
import re
import sys

from sparcl.base.errors import ConfigError

# What a shell or a format string takes for something else.
SPECIAL = re.compile(r"[\s\x00-\x1f\x7f\"'`$\\;&|<>(){}\[\]*?]")


def check(path: str) -> None:
    """Refuse an interpreter whose path a shell does not take as it is.

    Parameters
    ----------
    path : of the interpreter, as ``sys.executable`` states it

    Raises
    ------
    ConfigError
        For a path with spaces, quotes, brackets or other characters that mean something to a shell.
    """
    if found := sorted(set(SPECIAL.findall(path))):
        raise ConfigError(
            f"{path!r}: Snakemake starts jobs with this interpreter and writes its path into commands without quotes, "
            f"but the path contains {', '.join(map(repr, found))}. Nothing has run. Move the project to a folder "
            "without these characters and install it there again, or keep the environment in such a folder (make "
            "VENV=FOLDER)."
        )


def check_folder(path: str) -> None:
    """Refuse a project folder with braces in its path, which Snakemake takes for names to fill in.

    Raises
    ------
    ConfigError
        For a path with { or }.
    """
    if set(path) & set("{}"):
        raise ConfigError(
            f"{path!r}: Snakemake takes the braces in this folder's path for names to fill in, and no job starts. "
            "Nothing has run. Move the project to a folder without { and }."
        )


def check_code(file: str, folder: str) -> None:
    """Refuse a package ``sparcl`` (its ``__file__``) that is not the one of the project's folder.

    Raises
    ------
    ConfigError
        For another one: changes of the code here would have no effect.
    """
    if not os.path.realpath(file).startswith(os.path.join(os.path.realpath(folder), "sparcl", "")):
        raise ConfigError(
            f"sparcl is imported from {os.path.dirname(file)} and not from {folder}: the code there would run, in an "
            "older form perhaps. Nothing has run. Usual cause: `pip install .` without -e. Install it again with "
            "`pip install -e .`, and take other copies out of PYTHONPATH."
        )


if __name__ == "__main__":
    try:
        check_folder(os.getcwd())
        check(os.path.abspath(sys.argv[1]))
    except ConfigError as error:
        sys.exit(str(error))
