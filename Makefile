# make all       everything in paper/, and report.html of all of it: more than an hour on two cores
# make results   the paper's tables and figures from the bundled features
# make test      lint and the tests, six minutes on two cores; `make test-all` adds the slow ones
# make test-slurm  the suite `toy` on a SLURM cluster of one node: Debian or Ubuntu, as root; installs slurm-wlm and munge
# make verify    compute everything again in a temporary clone and compare with the committed numbers
# make paper     paper/report.pdf from what lies in paper/, with pdflatex
# make report    report.html from what lies in paper/: findings, tables to sort and search, figures, settings
# make crate     results/crate-<suite>.zip: the suite's run as an RO-Crate, with inputs, commit, settings and outputs by hash
# make docs      site/index.html: the documentation, the gallery and the reference; opens from a disk
# make features  extract scikit-learn's digits from images, as any own data set would be
# make timings   measure times again, on an idle machine (timings/)
# make touch     after `dvc pull`: take the pulled features as extracted here
# make dist      wheel and sdist in dist/, checked, and the wheel installed and used in an empty environment
# make lint | lock | unlock | clean
#
# Each sets up what it needs: Python >= 3.11 (PYTHON=python3.12 picks one) and make are enough.

PYTHON ?= python3
CORES ?= all
SUITE ?= $(shell sed -n 's/^suite: *\([a-z0-9-]*\).*/\1/p' params.yaml)
WORKERS ?= 2
PDFLATEX ?= pdflatex

# The study and the figures are no installed packages.
export PYTHONPATH := $(CURDIR):$(CURDIR)/workflow

VENV := .venv
RUN := $(VENV)/bin/python -m
SNAKEMAKE := $(RUN) snakemake --cores $(CORES) --logger=oneline
INSTALL := $(RUN) pip install --disable-pip-version-check --quiet
COMPILE := "$(or $(UV),uv)" pip compile --universal --fork-strategy fewest --python-version 3.11 \
  --generate-hashes --no-header --no-annotate --constraints requirements/bounds.in pyproject.toml
# One worker runs a file; tests/conftest.py puts long files first.
PYTEST := $(RUN) pytest -n $(WORKERS) --dist loadfile --no-loadscope-reorder
ONE_THREAD := OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 MKL_NUM_THREADS=1

# When the recorded numbers were committed, and report.html of what lies in paper/, SUITE first.
DAY := git log -1 --format=%cs -- 'paper/*/summary/*' 2>/dev/null
REPORT = $(RUN) study.pipeline.page $(SUITE) report.html --day "$$($(DAY))" && echo "Report: report.html"

# What shows times and memory: rules take those as they are, however new.
TIMED := $(addprefix paper/matched/,tables/tau-post.md tables/memory.md figures/efficiency.png) \
  $(addprefix paper/claims/claims,.md .png)

.DELETE_ON_ERROR:
.PHONY: all results test test-all test-slurm verify paper report crate docs features timings touch dist lint lint-types lint-style lock unlock clean

results: $(VENV)/core
	@$(SNAKEMAKE) all --config suite=$(SUITE)
	@echo
	@test ! -e paper/$(SUITE)/tables/main.csv || $(RUN) figures.main_table paper/$(SUITE)/tables/main.csv
	@echo
	@echo "Tables:  paper/$(SUITE)/tables    Figures: paper/$(SUITE)/figures    Numbers: paper/$(SUITE)/summary"

# `recorded` are the suites of `methods` and `ablations`, and the claims.
all: results
	@$(SNAKEMAKE) recorded claims
	@$(REPORT)

test: lint
	$(ONE_THREAD) $(PYTEST) -m "not slow"

test-all: lint
	$(ONE_THREAD) $(PYTEST)

test-slurm: $(VENV)/all
	tests/cluster/slurm.sh $(RUN) pytest tests/cluster/toy_on_slurm.py

# The last commit, not the working tree. ACROSS=1 allows the differences that another platform may show.
verify: $(VENV)/core
	@git ls-files --error-unmatch paper/$(SUITE)/summary >/dev/null 2>&1 || { \
	  echo "paper/$(SUITE)/summary is not in git: there is nothing to compare with. Name a suite whose numbers are" \
	    "committed: make verify SUITE=bundled" >&2; exit 1; }
	@folder=$$(mktemp -d) && trap 'rm -rf "$$folder"' EXIT && \
	git clone --quiet . "$$folder/clone" && \
	mv "$$folder/clone/paper/$(SUITE)/summary" "$$folder/committed" && \
	python=$$(cd "$(VENV)/bin" && pwd)/python && \
	(cd "$$folder/clone" && "$$python" -m snakemake --cores $(CORES) --logger=oneline summary \
	  --config suite=$(SUITE)) && \
	$(RUN) study.report.verify $(if $(ACROSS),--across) "$$folder/committed" "$$folder/clone/paper/$(SUITE)/summary"

# Twice: the second time for the numbers of tables and figures. The date is that of the last commit of recorded numbers.
paper:
	@command -v "$(PDFLATEX)" >/dev/null || { \
	  echo "$(PDFLATEX) was not found. On Debian and Ubuntu: apt-get install texlive-latex-recommended" \
	    "texlive-fonts-recommended; or name one: make paper PDFLATEX=path/to/pdflatex" >&2; exit 1; }
	@day=$$($(DAY)); \
	[ -z "$$day" ] || day="\\def\\datadate{$$day}"; \
	for time in first second; do \
	  (cd paper && "$(PDFLATEX)" -interaction=nonstopmode -halt-on-error -jobname=report \
	  "$$day\\input{report.tex}") >paper/report.out.txt || { \
	  grep -A5 '^!' paper/report.out.txt >&2; echo "paper/report.log says more." >&2; exit 1; }; done
	@echo "Report: paper/report.pdf"

report: $(VENV)/core
	@$(REPORT)

crate: results
	@$(RUN) study.pipeline.crate $(SUITE) results/crate-$(SUITE).zip
	@echo "RO-Crate: results/crate-$(SUITE).zip"

# Fetches nothing, and the site loads nothing from elsewhere, which the last line checks.
docs: $(VENV)/docs
	@$(VENV)/bin/python docs/site/gather.py build/pages
	@NO_MKDOCS_2_WARNING=1 $(RUN) mkdocs build --quiet
	@$(VENV)/bin/python docs/site/check.py site
	@echo "Documentation: site/index.html"

features: $(VENV)/all
	@$(SNAKEMAKE) features --config suite=digits
	@echo "Features: results/features/digits"

timings: $(VENV)/core
	@$(SNAKEMAKE) timings --forcerun time_methods measure_memory
	@$(SNAKEMAKE) $(TIMED) --force --allowed-rules write_table draw_figure judge_claims draw_claims

# Snakemake goes by file times and by its own records, and a pull brings neither.
touch: $(VENV)/core
	@$(SNAKEMAKE) features --touch --config suite=$(SUITE)

# The wheel is made from the sdist. It is used in a folder that has nothing of this one but features.
FEATURES := $(CURDIR)/data/features/cub-50/vit-s14-focus
dist: $(VENV)/all
	@rm -rf dist
	@$(RUN) build --no-isolation --outdir dist . >/dev/null
	@$(RUN) twine check --strict dist/*
	@$(VENV)/bin/check-wheel-contents dist/*.whl
	@unset PYTHONPATH && folder=$$(mktemp -d) && trap 'rm -rf "$$folder"' EXIT && "$(PYTHON)" -m venv "$$folder" && \
	"$$folder/bin/pip" install --disable-pip-version-check --quiet dist/*.whl && cd "$$folder" && \
	bin/sparcl --version && bin/sparcl fit --method sparcl-plus --features $(FEATURES)/train.h5 --out model.npz && \
	bin/sparcl evaluate model.npz --features $(FEATURES)/test.h5
	@echo "Distributions: dist"

# mypy takes as long as all others.
lint: $(VENV)/all
	@$(MAKE) --no-print-directory --jobs=2 lint-types lint-style

lint-types: $(VENV)/all
	$(RUN) mypy

lint-style: $(VENV)/all
	$(RUN) ruff check .
	$(VENV)/bin/codespell -D- -Ddocs/words.txt
	$(RUN) ruff format --check .
	$(RUN) snakefmt --check Snakefile workflow
	$(VENV)/bin/reuse lint --lines
	$(VENV)/bin/hadolint Dockerfile
	$(RUN) snakemake --lint
	$(VENV)/bin/lint-imports --no-cache

# The stamps: what is installed, renewed when the lists change.
$(VENV)/core: requirements/core.txt pyproject.toml
	@"$(PYTHON)" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || { \
	  echo "$(PYTHON) is not Python 3.11 or newer. Name one that is: make PYTHON=python3.12 $(MAKECMDGOALS)" >&2; exit 1; }
	@"$(PYTHON)" -m study.pipeline.interpreter "$(VENV)/bin/python"
	@$(RUN) pip --version >/dev/null 2>&1 || "$(PYTHON)" -m venv $(VENV) || { \
	  echo "$(PYTHON) could not make $(VENV). On Debian and Ubuntu the package python3-venv is missing." >&2; exit 1; }
	@echo "Installing requirements/core.txt into $(VENV) ..."
	@$(INSTALL) --require-hashes -r requirements/core.txt
	@$(INSTALL) --no-deps --no-build-isolation --editable .
	@touch $@

$(VENV)/docs: requirements/docs.txt $(VENV)/core
	@echo "Installing requirements/docs.txt into $(VENV) ..."
	@$(INSTALL) --require-hashes -r requirements/docs.txt
	@touch $@

$(VENV)/all: requirements/all.txt $(VENV)/core
	@echo "Installing requirements/all.txt into $(VENV) (PyTorch: about 6 GB) ..."
	@$(INSTALL) --require-hashes -r requirements/all.txt
	@touch $@

# Renews the lock files from pyproject.toml; needs uv (UV=path/to/uv). Look at the difference, then run `make test`.
lock:
	$(COMPILE) --extra pipeline --output-file requirements/core.txt
	$(COMPILE) --extra pipeline --extra docs --output-file requirements/docs.txt
	$(COMPILE) --all-extras --output-file requirements/all.txt

# Only after a run with other settings than profiles/default left Snakemake's own lock behind.
unlock: $(VENV)/core
	$(SNAKEMAKE) --unlock

# What a killed job left under a temporary name (.NAME.PROCESS-NUMBER: sparcl.base.files.replacing) goes too.
DRAWN := [a-z0-9_]
clean:
	find data paper timings -regex '.*/\.[^/]*\.[0-9][0-9]*-$(DRAWN)$(DRAWN)$(DRAWN)$(DRAWN)$(DRAWN)$(DRAWN)$(DRAWN)$(DRAWN)' \
	  -prune -exec rm -rf {} +
	rm -rf results .snakemake build dist site *.egg-info .pytest_cache .ruff_cache .mypy_cache .hypothesis .import_linter_cache
