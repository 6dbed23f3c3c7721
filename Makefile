# Common tasks. `make help` lists them.

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help

TOOLS      := .cache/bin
GOLANGCI   := $(TOOLS)/golangci-lint-v2.15.0
GOVULN     := $(TOOLS)/govulncheck-v1.8.0
GOTESTSUM  := $(TOOLS)/gotestsum-v1.13.0
HELM       := $(TOOLS)/helm-v3.22.0
WITH       := $(TOOLS)/with

# gin's MessagePack, which nobody calls, and debug information cost a fifth of a build:
# docs/dependencies.md. .ci/flags says the same.
export GOFLAGS += -tags=nomsgpack -gcflags=all=-dwarf=false

# Reports name the measured commit. In a checkout owned by another user, git
# (and therefore go build) refuses to report it.
ifeq ($(shell git rev-parse HEAD 2>/dev/null),)
export GOFLAGS += -buildvcs=false
else
STAMP := -buildvcs=auto
endif

.PHONY: help build demo dev test sdk soak torture torture-long torture-mutants proof dist docs sdk-python sdk-csharp sdk-godot bench-cli bench-screen bench bench-ingest bench-read bench-pipeline bench-past bench-realtime lint vuln fmt fuzz setup clean bench-peers containers accept accept-full accept-chaos bench-max

help: ## list the targets
	@awk -F ':.*## ' '/^##@ / { printf "%s%s\n", gap, substr($$0, 5); gap = "\n" } \
		/^[a-z-]+:.*## / && gap { printf "  %-15s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

##@ Start

build: ## build bin/scoreboardd and bin/sbctl
	@mkdir -p bin
	go build $(STAMP) -ldflags '-s -w' -o bin/ ./cmd/scoreboardd ./cmd/sbctl

demo: build ## watch a game on the development stack: a season of a league ends, a cheater is caught; DEMO_SECONDS=10 ends it after 10 s
	@mkdir -p $(TOOLS)
	@go build -o $(TOOLS)/demo ./internal/test/demo
	@deploy/demo.sh

dev: build ## run the development stack in the foreground, data in .dev
	@exec bin/scoreboardd dev

clean: ## remove build output; .dev and downloaded servers stay
	rm -rf bin dist out .cache

##@ Check

setup: ## install what the tests need (as root on Debian), report what is missing
	@.ci/setup

test: ## run every check on real backends, with its own set-up (20 minutes on two cores)
	@.ci/test

lint: $(GOLANGCI) ## run static checks and check formatting
	$(GOLANGCI) run ./...

fmt: $(GOLANGCI) ## format the code
	$(GOLANGCI) fmt ./...

vuln: $(GOVULN) ## check called code for known vulnerabilities; says so if their database (vuln.go.dev, or GOVULNDB) cannot be reached
	@.ci/vuln $(GOVULN)

sdk: build ## check the TypeScript SDK: types, build, tests with a real daemon, size
	@mkdir -p .cache
	@.ci/sdk

sdk-python: build ## check the Python SDK on a development stack, and that its wheel installs
	@.ci/sdk-python

sdk-csharp: build ## check the C# SDK on Mono, with a development stack
	@.ci/sdk-csharp

sdk-godot: ## check the GDScript add-on for Godot: parse, format, lint
	@.ci/sdk-godot

torture: build ## break two daemons and their backends for a minute and check every answer; TORTURE_FLAGS='--seed 7'
	go run ./internal/test/torture $(TORTURE_FLAGS)

##@ Prove

proof: ## run the long checks too: many rows, minutes of faults, stand-ins, fuzzing
	@.ci/proof

torture-long: build ## repeat torture over all installations until a million operations were answered (as root, under two hours)
	go run ./internal/test/torture --operations 1000000 --duration 3m --writers 48 --players 400 --pause 4

torture-mutants: ## check that torture finds each of its mutants of the daemon (about twenty minutes)
	go run ./internal/test/torture/mutants

soak: build ## play a scaled day for SOAK_DURATION (2h): rotations, seasons, archives, deploys; nothing may grow or differ
	go run ./internal/test/soak --duration $${SOAK_DURATION:-2h} $(SOAK_FLAGS)

fuzz: ## run every fuzz target, for FUZZ_TIME each (60s; 500000x for so many inputs)
	@.ci/fuzz

containers: ## build the image, start docker-compose.yml and check both, with a Docker engine (about a quarter of an hour)
	@.ci/containers

##@ Measure

bench: build ## measure start-up, idle cost, and the time from commit to Redis and to a frame
	go run ./internal/test/bench latency

bench-ingest: build ## measure writes: the store alone, over HTTP, at fixed rates, on a large ledger
	go run ./internal/test/bench store
	go run ./internal/test/bench ingest
	go run ./internal/test/bench open
	go run ./internal/test/bench grown

bench-read: build ## measure reads: mixed at fixed rates, in a closed loop, without Redis, memory of many boards
	go run ./internal/test/bench read

bench-pipeline: build ## measure projection, rebuild, verify, replay, a backlog during writes; BENCH_SCALE=0.02 for a small run
	go run ./internal/test/bench pipeline --scale $${BENCH_SCALE:-1}

bench-realtime: ## measure the gateway: idle connections, a hot board, stalled connections, reconnects (about six minutes)
	ulimit -n $$(ulimit -H -n) && timeout 900 go run ./internal/test/bench realtime all --duration 20s

bench-past: build ## measure past boards, checkpoints, a what-if (about five minutes); BENCH_SCALE=0.02 for a small run
	go run ./internal/test/bench past --scale $${BENCH_SCALE:-1}

bench-cli: build ## measure sbctl: help, one submit, a file of LINES (200000), size
	go run ./internal/test/bench cli --lines $${LINES:-200000}

bench-screen: build ## measure the dashboard: CPU and bytes to the terminal, idle and at 50 updates/s (about three minutes)
	go run ./internal/test/bench screen

bench-max: build ## search for the highest rate sustained for two minutes: sync, async, batch
	go run ./internal/test/bench generator
	go run ./internal/test/bench max-rate

bench-peers: ## measure increments on a Nakama or Podium: make bench-peers KIND=nakama URL=http://127.0.0.1:7350
	go run ./internal/test/bench peer --kind "$(KIND)" --url "$(URL)" $(PEER_FLAGS)

accept: build ## check the acceptance criteria on the development stack, scaled to under three minutes
	@deploy/accept.sh

accept-full: build ## run the full criteria on PostgreSQL, Redis and Kafka: 10,000/s for 15 minutes
	go run ./internal/test/bench accept

accept-chaos: build ## check that no increment is lost or doubled with a killed projector, a flushed Redis and cut requests
	go run ./internal/test/bench chaos

##@ Release

docs: build ## regenerate screens, OpenAPI, man pages and the references of commands and settings from the program
	@.ci/docs

dist: ## build a release in dist/: archives for six systems, images, chart, packages of the SDKs, checksums
	@.ci/dist

# Tools carry their version in their file name, so a new pin triggers a rebuild.
$(GOLANGCI):
	@.ci/tool $@ github.com/golangci/golangci-lint/v2/cmd/golangci-lint

$(GOVULN):
	@.ci/tool $@ golang.org/x/vuln/cmd/govulncheck

$(GOTESTSUM):
	@.ci/tool $@ gotest.tools/gotestsum

$(HELM):
	@.ci/tool $@ helm.sh/helm/v3/cmd/helm

.PHONY: $(WITH)
$(WITH):
	@mkdir -p $(TOOLS)
	@go build -o $@ ./internal/test/backends/with
