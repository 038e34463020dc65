"""Gather run records into runs.csv and sessions.csv."""

from sparcl import adapter, summary


def main(snakemake) -> None:
    runs, sessions = summary.summarise(snakemake.input.records)
    summary.write_csv(runs, snakemake.output.runs)
    summary.write_csv(sessions, snakemake.output.sessions)


if __name__ == "__main__":
    with adapter.logged(snakemake.log):  # noqa: F821
        main(snakemake)  # noqa: F821
