"""An interpreter that has everything imported: each program that it runs is a fork of one process.

Starting Python and importing Snakemake, DVC or matplotlib takes longer than most of what tests ask of a job. The
process knows nothing of the project: what a program imports of it comes from where an interpreter would find it.
"""

import atexit
import functools
import importlib
import json
import os
import runpy
import select
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import traceback
from pathlib import Path
from typing import Any
from unittest import mock

import threadpoolctl

MODULES = (
    *("h5py", "matplotlib.backends.backend_agg", "matplotlib.backends.backend_pdf"),
    *("matplotlib.figure", "numpy", "pandas", "pydantic"),
    *("scipy.linalg", "scipy.sparse.linalg", "scipy.spatial", "scipy.special"),
    # what Snakemake and DVC import when they run
    *("nbformat", "smart_open", "snakemake.script"),
    *("dvc.cachemgr", "dvc.cli.parser", "dvc.data_cloud", "dvc.repo.artifacts", "dvc.repo.graph"),
    *("dvc.repo.index", "dvc.repo.open_repo", "dvc.repo.plots", "dvc.repo.stage", "dvc.rwlock"),
    *("dvc.utils.strictyaml", "networkx", "pygit2", "ruamel.yaml", "scmrepo.git"),
)
# Takes `-m module` or a script, with arguments; the real interpreter has everything else.
CLIENT = """\
#!{python} -IS
import json, os, socket, sys
given = sys.argv[1:]
if not given or given[0] != "-m" and given[0].startswith("-"):
    os.execv({real!r}, [{real!r}, *given])
with socket.socket(socket.AF_UNIX) as server:
    server.connect({address!r})
    request = json.dumps([given, os.getcwd(), dict(os.environ), os.umask(0)]).encode()
    socket.send_fds(server, [len(request).to_bytes(8)], [0, 1, 2])
    server.sendall(request)
    code = server.recv(1)
os._exit(code[0] if code else 1)
"""


@functools.cache
def folder(**at_start: str) -> Path:
    """Start the process and return a folder for the PATH, with `python` and `snakemake`; both end with this process.

    ``at_start`` are variables of its environment that Python and its libraries read when they start.
    """
    place = Path(tempfile.mkdtemp(prefix="warm-"))
    atexit.register(shutil.rmtree, place, ignore_errors=True)
    address = os.fspath(place / "socket")
    names = {"python": os.path.realpath(sys.executable), "real": sys.executable, "address": address}
    (place / "python").write_text(CLIENT.format(**names), encoding="utf-8")
    (place / "snakemake").write_text(f'#!/bin/sh\nexec {place}/python -m snakemake "$@"\n')
    for program in ("python", "snakemake"):
        (place / program).chmod(0o755)
    # without the project on its path
    server = subprocess.Popen(
        [sys.executable, __file__, address, os.fspath(place / "python")],
        env={key: value for key, value in os.environ.items() if key != "PYTHONPATH"} | at_start,
        stdin=subprocess.PIPE,  # at its end the process ends
        stdout=subprocess.PIPE,
    )
    assert server.stdout and server.stdout.readline() == b"ready\n"
    atexit.register(server.kill)
    return place


def python(**at_start: str) -> str:
    """Return the path of the interpreter; ``at_start`` as in `folder`."""
    return os.fspath(folder(**at_start) / "python")


def load() -> None:
    """Import what the programs import beside the project."""
    for module in MODULES:
        importlib.import_module(module)
    import snakemake.cli
    from snakemake_interface_logger_plugins.registry import LoggerPluginRegistry

    # Looking for plugins takes long; but a project has loggers of its own.
    def none(registry: LoggerPluginRegistry) -> None:
        registry.plugins = {}

    with mock.patch.object(LoggerPluginRegistry, "collect_plugins", none):
        snakemake.cli.get_argument_parser()
    LoggerPluginRegistry._instance = None


def serve(address: str, executable: str) -> None:
    """Fork for each request, until standard input ends."""
    places = sys.path[1:]  # without this folder
    load()
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(address)
        listening.listen(64)
        print("ready", flush=True)
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        while sys.stdin not in select.select([listening, sys.stdin], [], [])[0]:
            client, _ = listening.accept()
            if os.fork() == 0:
                listening.close()
                answer(client, executable, places)
            client.close()
            while reaped():
                pass


def reaped() -> int:
    """Return the id of a fork that has ended, and 0 if there is none."""
    try:
        return os.waitpid(-1, os.WNOHANG)[0]
    except ChildProcessError:
        return 0


def answer(client: socket.socket, executable: str, places: list[str]) -> None:
    """Run in this fork what a client asks for, and send the exit status."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    head, files, *_ = socket.recv_fds(client, 8, 3)
    request = b""
    while len(request) < int.from_bytes(head):
        request += client.recv(1 << 20)
    for number, file in enumerate(files):
        os.dup2(file, number)
        os.close(file)
    try:
        become(*json.loads(request), executable, places)
        code: Any = 0
    except SystemExit as error:
        code = error.code
    except BaseException:
        traceback.print_exc()
        code = 1
    if isinstance(code, str):
        print(code, file=sys.stderr)
    threading._shutdown()  # as an interpreter that ends waits for its threads
    sys.stdout.flush()
    sys.stderr.flush()
    client.sendall(bytes([code % 256 if isinstance(code, int) else code is not None]))
    os._exit(0)


def become(
    given: list[str],
    cwd: str,
    environment: dict[str, str],
    umask: int,
    executable: str,
    places: list[str],
) -> None:
    """Do what an interpreter does that is started with these arguments."""
    os.chdir(cwd)
    os.umask(umask)
    os.environ.clear()
    os.environ.update(environment)
    if "OPENBLAS_NUM_THREADS" in environment:  # which OpenBLAS reads when it is loaded
        threadpoolctl.threadpool_limits(int(environment["OPENBLAS_NUM_THREADS"]), "blas")
    sys.executable = executable
    sys.dont_write_bytecode = bool(os.environ.get("PYTHONDONTWRITEBYTECODE"))
    named = [place for place in os.environ.get("PYTHONPATH", "").split(os.pathsep) if place]
    module = given[0] == "-m"
    sys.argv[:] = given[module:]
    sys.path[:] = [cwd if module else os.path.dirname(os.path.realpath(given[0]))]
    sys.path += [*named, *places]
    if module:
        runpy.run_module(given[1], run_name="__main__", alter_sys=True)
    else:
        runpy.run_path(given[0], run_name="__main__")


if __name__ == "__main__":
    serve(*sys.argv[1:])
