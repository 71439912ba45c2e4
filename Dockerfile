# syntax=docker/dockerfile:1
# Framescribe as an image: the packages of requirements.lock (torch for CUDA, which runs on a CPU too), then the project.
#   docker build --tag framescribe:0.1.0 .
#   docker run --rm --gpus all --volume "$PWD:/framescribe" framescribe:0.1.0 dvc repro        (docs/containers.md)
# The base is pinned by its tag. Its digest is the registry's to say: `docker buildx imagetools inspect` prints it, and
# --build-arg BASE=python:3.11.14-slim-bookworm@sha256:... pins it.
ARG BASE=python:3.11.14-slim-bookworm

FROM ${BASE} AS packages
RUN pip install --no-cache-dir uv==0.13.7
ENV UV_CACHE_DIR=/var/cache/uv
WORKDIR /build
COPY pyproject.toml requirements.lock ./
# pyproject.toml says what: all extras that stages on clusters need. The lock alone says which versions and, by its hashes, which bytes.
RUN uv venv --quiet --no-python-downloads /opt/venv \
 && uv pip compile --quiet --no-header --no-annotate --python /opt/venv/bin/python --constraints requirements.lock \
      --extra cluster --extra engines --extra flow --extra hdf5 --extra objects --extra pytorchvideo --extra transformers \
      --output-file runtime.txt pyproject.toml
RUN --mount=type=cache,target=/var/cache/uv \
    uv pip install --quiet --python /opt/venv/bin/python --link-mode copy --compile-bytecode --require-hashes \
      --constraints requirements.lock --build-constraints requirements.lock --requirements runtime.txt

FROM ${BASE}
ARG REVISION=unknown
LABEL org.opencontainers.image.title="framescribe" \
      org.opencontainers.image.description="Video captioning, end to end: decode, extract features, train, caption, evaluate; reproducible with DVC." \
      org.opencontainers.image.version="0.1.0" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.revision="${REVISION}" \
      org.opencontainers.image.base.name="docker.io/library/python:3.11.14-slim-bookworm"
# tini is process 1: it passes signals on and buries the decoders of a worker that was killed.
RUN apt-get update \
 && apt-get install --yes --no-install-recommends tini=0.19.* \
 && rm -rf /var/lib/apt/lists/* \
 && useradd --uid 10001 --create-home framescribe \
 && install --directory --owner framescribe --group framescribe /framescribe /var/cache/framescribe
COPY --from=packages /opt/venv /opt/venv
ENV PATH=/opt/venv/bin:$PATH \
    PYTHONUNBUFFERED=1 \
    HF_HUB_OFFLINE=1 \
    DVC_NO_ANALYTICS=1 \
    ORT_DISABLE_TELEMETRY=1 \
    FRAMESCRIBE_CACHE=/var/cache/framescribe \
    NVIDIA_VISIBLE_DEVICES=all \
    NVIDIA_DRIVER_CAPABILITIES=compute,utility
WORKDIR /framescribe
# A few megabytes from here on: a change of the project does not send the packages again.
COPY --chown=10001:10001 . .
# Editable, so that a checkout mounted here is what runs. The image is no git repository, and DVC is told so.
RUN pip --python /opt/venv/bin/python install --quiet --no-cache-dir --no-deps --no-build-isolation --editable . \
 && dvc config --system core.no_scm true
USER 10001:10001
HEALTHCHECK --interval=60s --timeout=20s --start-period=20s --retries=3 CMD ["framescribe", "doctor", "--quick", "--quiet"]
ENTRYPOINT ["tini", "--"]
CMD ["framescribe", "doctor"]
