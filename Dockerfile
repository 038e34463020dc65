# The study with its locked packages, without PyTorch, run by a user without rights:
#   docker build --tag sparcl . && docker run --name study sparcl && docker cp study:/study/paper out
# Another suite: docker run sparcl make results SUITE=toy
FROM debian:bookworm-slim

# Debian's archive holds one version of each package, so that no version is pinned. Its Python is 3.11, as in the locks.
# hadolint ignore=DL3008
RUN apt-get update \
  && apt-get install --yes --no-install-recommends make python3-venv \
  && rm -rf /var/lib/apt/lists/* \
  && useradd --uid 1000 --create-home sparcl \
  && install --directory --owner 1000 --group 1000 /study

USER 1000
WORKDIR /study

# The packages change less often than the code.
COPY --chown=1000:1000 requirements/core.txt requirements/
RUN python3 -m venv .venv \
  && .venv/bin/pip install --no-cache-dir --disable-pip-version-check --require-hashes --requirement requirements/core.txt
COPY --chown=1000:1000 . .
RUN make .venv/core

CMD ["make", "results"]
