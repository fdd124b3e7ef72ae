# syntax=docker/dockerfile:1.19.0
# One image for every role: docker build --build-arg CONVEYOR_VERSION=v1.2.3 -t conveyor:v1.2.3 .
# And the same with Chromium, for workers that load pages: --target browser -t conveyor-browser:v1.2.3

FROM --platform=$BUILDPLATFORM golang:1.26.10-bookworm AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN --mount=type=cache,target=/go/pkg/mod go mod download
COPY . .
ARG TARGETOS
ARG TARGETARCH
ARG CONVEYOR_VERSION=devel
RUN --mount=type=cache,target=/go/pkg/mod --mount=type=cache,target=/go/cache \
    GOCACHE=/go/cache CGO_ENABLED=0 GOOS=$TARGETOS GOARCH=$TARGETARCH \
    go build -trimpath -tags=nomsgpack,disable_grpc_modules -ldflags "-s -w -X main.release=$CONVEYOR_VERSION" -o /out/conveyor ./cmd/conveyor
# A named volume takes over the owner of the folder that it is mounted on.
RUN mkdir -p /out/data/blobs

# Chromium, Node and Playwright's driver. Chromium is Debian's of the day: it must be patched, not pinned.
FROM node:24.11.1-bookworm-slim AS browser
RUN apt-get update \
 && apt-get install -y --no-install-recommends chromium fonts-liberation ca-certificates \
 && rm -rf /var/lib/apt/lists/*
COPY --from=build /out/conveyor /conveyor
RUN ["/conveyor", "install-browser", "--to=/opt/playwright"]
ARG CONVEYOR_VERSION=devel
LABEL org.opencontainers.image.title="conveyor-browser" \
      org.opencontainers.image.description="Conveyor's worker with Chromium" \
      org.opencontainers.image.source="https://github.com/mtlrent/conveyor" \
      org.opencontainers.image.version="$CONVEYOR_VERSION"
COPY --from=build --chown=65532:65532 /out/data /data
# What Chromium writes beside its profile goes with the home.
ENV CONVEYOR_HOME=/data \
    CONVEYOR_LOG_FORMAT=json \
    CONVEYOR_BROWSER=/usr/bin/chromium \
    CONVEYOR_BROWSER_DRIVER=/opt/playwright \
    HOME=/tmp
USER 65532:65532
EXPOSE 9464
ENTRYPOINT ["/conveyor"]
CMD ["worker"]

# Certificates, time zones, /tmp and a user without rights: nothing else, no shell. The tag moves, the digest does not.
FROM gcr.io/distroless/static-debian13:nonroot@sha256:e2e927ec666bae08560abb3c55d0659eceabb657f56b6782ab500a9fc7f555e3
ARG CONVEYOR_VERSION=devel
LABEL org.opencontainers.image.title="conveyor" \
      org.opencontainers.image.description="Adverts, drafts, crawls, search and messages, each through a durable workflow" \
      org.opencontainers.image.source="https://github.com/mtlrent/conveyor" \
      org.opencontainers.image.version="$CONVEYOR_VERSION"
COPY --from=build /out/conveyor /conveyor
COPY --from=build --chown=65532:65532 /out/data /data
ENV CONVEYOR_HOME=/data \
    CONVEYOR_LOG_FORMAT=json
USER 65532:65532
# The API; metrics of worker and bridge; the demo site.
EXPOSE 8080 9464 8090
ENTRYPOINT ["/conveyor"]
CMD ["--help"]
