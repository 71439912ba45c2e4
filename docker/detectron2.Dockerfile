# syntax=docker/dockerfile:1
# The image of ../Dockerfile and detectron2, which is on no registry and is compiled here (about six minutes on one core).
#   docker build --tag framescribe:0.1.0 . && docker build --tag framescribe:0.1.0-detectron2 --file docker/detectron2.Dockerfile docker
# Without a CUDA compiler its own operators (deformable convolution, rotated boxes) are built for the CPU; those of
# Faster and Mask R-CNN are torchvision's and run on a GPU all the same.
ARG BASE=framescribe:0.1.0

FROM ${BASE} AS wheel
# hadolint ignore=DL3002  # nothing of this stage but the wheel goes on
USER 0
RUN apt-get update \
 && apt-get install --yes --no-install-recommends g++=4:12.* \
 && rm -rf /var/lib/apt/lists/*
WORKDIR /build
# Pinned by a commit, which is the hash of its own content.
ADD https://github.com/facebookresearch/detectron2.git#e0ec4e189d438848521aee7926f9900e114229f5 detectron2
RUN pip --python /opt/venv/bin/python wheel --no-cache-dir --no-deps --no-build-isolation --wheel-dir wheels ./detectron2

FROM ${BASE}
LABEL org.opencontainers.image.title="framescribe with detectron2"
USER 0
COPY --from=wheel /build/wheels /tmp/wheels
RUN pip --python /opt/venv/bin/python install --no-cache-dir --no-deps /tmp/wheels/*.whl && rm -rf /tmp/wheels
USER 10001:10001
