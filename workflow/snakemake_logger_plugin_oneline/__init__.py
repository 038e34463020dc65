"""A logger plugin of Snakemake: one line on the terminal that says how far a run is, what runs and how long it takes.

``snakemake --logger=oneline``. Warnings and errors are shown as Snakemake words them; everything is in its log file
under ``.snakemake/log``. Snakemake finds the plugin by this package's name, in the folder that it is started in.
"""

import re
import shutil
import sys
import time
from collections import Counter, defaultdict
from logging import WARNING, LogRecord
from pathlib import Path
from typing import TextIO

from snakemake_interface_logger_plugins.base import LogHandlerBase
from snakemake_interface_logger_plugins.common import LogEvent

from sparcl.base.terminal import printable, printable_lines

PAUSE = 30.0  # seconds between two lines where there is no terminal
# What a person needs no word of, beside events that are no errors: how Snakemake prepares.
PREPARING = (
    "Assuming unrestricted shared filesystem",
    "host:",
    "Building DAG of jobs",
    "Using shell:",
    "Provided cores:",
    "Rules claiming more threads",
    "Conda environments:",
    "Select jobs to execute",
    "Elapsed time:",
)


# How Snakemake says that a script has ended with an error, which the script has said itself.
ENDED = re.compile(
    r"CalledProcessError in file.*\.snakemake/scripts/.*returned non-zero exit status 1\.",
    re.DOTALL,
)
# The logs of jobs whose error is on the terminal (study.pipeline.adapter).
SAID = Path(".snakemake/said")


class Progress:
    """The state of a run, from its events.

    The time left is the work left over the work a second so far: a job that has not ended takes the mean of its rule's
    jobs that have, and its time so far counts as done. Of rules of which no job has ended nothing is known: their jobs
    are counted apart.
    """

    def __init__(self) -> None:
        self.done, self.total = 0, 0
        self.planned: dict[str, int] = {}
        self.running: dict[int, tuple[str, str, float]] = {}  # rule, name, start
        self.spent: defaultdict[str, float] = defaultdict(float)
        self.ended: Counter[str] = Counter()
        self.began: float | None = None

    def take(self, record: LogRecord) -> None:
        """Take in one event."""
        event, told = getattr(record, "event", None), record.__dict__
        if event == LogEvent.RUN_INFO:
            self.planned = {rule: n for rule, n in told["stats"].items() if rule != "total"}
            self.total = told["stats"]["total"]
        elif event == LogEvent.JOB_INFO:
            name = "/".join(map(str, (told["wildcards"] or {}).values()))
            rule = told["rule_name"]
            self.running[told["jobid"]] = (rule, f"{rule} {name}".strip(), record.created)
            self.began = record.created if self.began is None else self.began
        elif event == LogEvent.JOB_FINISHED and told["job_id"] in self.running:
            rule, _, start = self.running.pop(told["job_id"])
            self.spent[rule] += record.created - start
            self.ended[rule] += 1
        elif event == LogEvent.JOB_ERROR:
            self.running.pop(told["jobid"], None)
        elif event == LogEvent.PROGRESS:
            self.done, self.total = told["done"], told["total"]

    def left(self, now: float) -> float | None:
        """Return the seconds left for the jobs of rules of which one has ended; None where there are none."""
        left = {rule: n - self.ended[rule] for rule, n in self.planned.items() if self.ended[rule]}
        if self.began is None or not any(left.values()):
            return None
        means = {rule: self.spent[rule] / self.ended[rule] for rule in left}
        work = sum(means[rule] * n for rule, n in left.items())
        under_way = 0.0
        for rule, _, start in self.running.values():
            under_way += now - start
            work -= min(now - start, means.get(rule, 0.0))
        speed = (sum(self.spent.values()) + under_way) / max(now - self.began, 1e-9)
        return max(work, 0.0) / max(speed, 1e-9)

    def unknown(self) -> int:
        """Return how many jobs are of rules of which none has ended."""
        return sum(n for rule, n in self.planned.items() if not self.ended[rule])

    def line(self, now: float) -> str:
        """Return how far the run is, how long it takes, and the job that has run longest."""
        left, unknown = self.left(now), self.unknown()
        said = f"{self.done} of {self.total} jobs done"
        if left is not None and self.done < self.total:
            apart = f", and {unknown} jobs of other kinds" if unknown else ""
            said += f", {duration(left)} left{apart}"
        names = [name for _, name, _ in self.running.values()]
        more = f" and {len(names) - 1} more" if len(names) > 1 else ""
        return f"{said}: {names[0]}{more}" if names else said


def duration(seconds: float) -> str:
    """Return seconds in words, coarsely: it is an estimate."""
    if seconds < 60:
        return "less than a minute"
    minutes = round(seconds / 60)
    return f"about {minutes} min" if minutes < 120 else f"about {round(minutes / 60)} h"


def explained(record: LogRecord, text: str) -> bool:
    """Tell whether Snakemake says that a job has failed which has said why on this terminal."""
    event, told = getattr(record, "event", None), record.__dict__
    if event == LogEvent.JOB_ERROR and "external_jobid" not in (told.get("aux") or {}):
        try:
            said = SAID.read_text(encoding="utf-8").split("\n")
        except OSError:
            return False
        return not {*told["log"]}.isdisjoint(said)
    return event == LogEvent.ERROR and ENDED.search(text) is not None


class LogHandler(LogHandlerBase):
    """Writes the line: over itself on a terminal, else a new one now and then."""

    writes_to_stream = True  # in the place of Snakemake's own output
    writes_to_file = False  # the log file is Snakemake's own
    has_filter = False  # Snakemake's own knows --quiet
    has_formatter = False  # Snakemake's own words
    needs_rulegraph = False  # counts are enough

    def __post_init__(self) -> None:
        self.progress = Progress()
        self.stream: TextIO = sys.stdout if self.common_settings.stdout else sys.stderr
        self.terminal = self.stream.isatty()
        self.shown, self.last = "", 0.0

    def emit(self, record: LogRecord) -> None:
        """Take a record in, and show it or the line."""
        try:
            event = getattr(record, "event", None)
            text = printable_lines(str(self.format(record) or ""))
            quiet = event != LogEvent.DEBUG_DAG if event else text.startswith(PREPARING)
            loud = record.levelno >= WARNING or self.common_settings.dryrun or not quiet
            if loud and not explained(record, text):
                self._say(text)
            if not self.common_settings.dryrun:
                self.progress.take(record)
                if event in (LogEvent.JOB_INFO, LogEvent.PROGRESS):
                    self._draw()
        except Exception:
            self.handleError(record)

    def _say(self, text: str) -> None:
        if text and text != "None":
            self.stream.write(("\r\x1b[K" if self.shown else "") + text + "\n" + self.shown)
            self.stream.flush()

    def _draw(self) -> None:
        now = time.time()
        line = printable(self.progress.line(now))
        if self.terminal:
            self.shown = line[: shutil.get_terminal_size().columns - 1]
            self.stream.write(f"\r\x1b[K{self.shown}")
        elif now - self.last >= PAUSE or self.progress.done == self.progress.total > 0:
            self.last = now
            self.stream.write(f"{line}\n")
        self.stream.flush()

    def close(self) -> None:
        """End the line."""
        if self.shown:
            self.stream.write("\n")
            self.stream.flush()
            self.shown = ""
        super().close()
