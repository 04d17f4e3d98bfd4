# Everything that one does with Handbill, by name. `make` alone prints them.
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DELETE_ON_ERROR:
# Two builds at once would only wait for each other's lock.
.NOTPARALLEL:

SWIFT ?= swift
SOURCES := $(wildcard Package.swift Services Shared Tests examples)

.PHONY: help
help: ## print this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-16s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

.PHONY: install
install: ## install what Debian must bring besides Swift (asks nothing)
	@deploy/install

.PHONY: install-tests
install-tests: ## install what the tests need as well
	@deploy/install tests

# Tests of what neither waits nor reaches out of the process, which may run all at once.
PURE := Crypto AdCore AdEvents Pipeline AdSelectionCore ImpressionTrackingCore ClickTrackingCore BillingCore \
  SchemaEmbedder Architecture
NOTHING :=
SPACE := $(NOTHING) $(NOTHING)
PURE_TESTS := ^($(subst $(SPACE),|,$(strip $(PURE))))Tests\.
UNIT_TESTS := ^($(subst $(SPACE),|,$(notdir $(wildcard Tests/Unit/*Tests))))\.

# Tests that go behind those, so that three lanes take about as long.
THIRD_LANE := ^(SimulationTests|OperationsTests|DeployTests)\.|MonthTests

# All tests, their libraries optimised; a folder of its own, so that nothing is built again for the inner loop.
TESTS := --scratch-path .build/tests
# Whole modules, without what only a debugger reads: a sixth less to compile.
WHOLE_MODULES := -Xswiftc -gnone -Xswiftc -whole-module-optimization -Xswiftc -num-threads -Xswiftc 2
BUILD_TESTS := OPTIMISED=1 $(SWIFT) build $(TESTS) --build-tests $(WHOLE_MODULES)
RUN_TESTS := $$($(SWIFT) build $(TESTS) --show-bin-path)/handbillPackageTests.xctest --testing-library swift-testing

# Worlds of one seed are then the same in every process: dictionaries keep one order.
REPLAYABLE := SWIFT_DETERMINISTIC_HASHING=1

.PHONY: build
build: install ## build everything, for debugging
	$(SWIFT) build

.PHONY: check
check: lint ## check the format, and run the unit tests and those of the architecture: the loop while one works
	$(SWIFT) build --build-tests
	$(SWIFT) test --skip-build --filter '$(PURE_TESTS)'
	$(SWIFT) test --skip-build --no-parallel --filter '$(UNIT_TESTS)' --skip '$(PURE_TESTS)'

.PHONY: test
test: install-tests lint ## check the format, build, and run all tests
	# The Python of others' programs is fetched meanwhile: who needs it waits for it.
	@Tests/Conformance/venv >/dev/null 2>&1 &
	$(BUILD_TESTS)
	# What has servers waits for them some of the time, one test after the other; what only computes has the rest of the
	# processors, and then a part of the others. The lanes take about as long.
	@tests="$(RUN_TESTS)"; export NO_COLOR=1; \
	Tests/in-memory Tests/java-archive Tests/side-by-side \
	  network "$$tests --no-parallel --filter WholeNetwork" \
	  servers "$$tests --no-parallel --skip '$(PURE_TESTS)' --skip '$(THIRD_LANE)' --skip WholeNetwork" \
	  others "failed=0; nice -n 19 $$tests --filter '$(PURE_TESTS)' || failed=1; \
	    $(REPLAYABLE) nice -n 19 $$tests --no-parallel --filter SimulationTests || failed=1; \
	    $$tests --no-parallel --filter MonthTests || failed=1; \
	    $$tests --no-parallel --filter '$(THIRD_LANE)' --skip SimulationTests --skip MonthTests || failed=1; exit \$$failed"

.PHONY: docs
docs: build ## build the SDK's documentation, without a warning, into .build/documentation
	docs/build "$$($(SWIFT) build --show-bin-path)/Modules" .build/documentation

.PHONY: release
release: install ## build the command and the services, optimised
	PROGRAMS_ONLY=1 $(SWIFT) build -c release

.PHONY: demo
demo: release ## show a living network for DEMO_SECONDS (30), with its accounts at the end
	@exec "$$($(SWIFT) build -c release --show-bin-path)/handbill" demo $(DEMO_ARGUMENTS)

.PHONY: up
up: release ## start the same network and stay, until Ctrl-C
	@exec "$$($(SWIFT) build -c release --show-bin-path)/handbill" up $(DEMO_ARGUMENTS)

.PHONY: bench
bench: release install-tests ## measure on a real Kafka (KAFKA_HOME) and PostgreSQL, each figure beside its limit
	$(SWIFT) build -c release --product Benchmarks
	@"$$($(SWIFT) build -c release --show-bin-path)/Benchmarks"

.PHONY: simulate
SEEDS ?= 10000
simulate: install ## run SEEDS=n simulated worlds and count the faults they went through; SEED=n replays one
	$(SWIFT) build -c release --product Simulator
	@$(REPLAYABLE) SEEDS=$(SEEDS) "$$($(SWIFT) build -c release --show-bin-path)/Simulator"

.PHONY: replay
DECISIONS ?= 100000
replay: install-tests ## log DECISIONS=n (100,000) decisions on a PostgreSQL, and hold their auctions again: all must be the same
	$(BUILD_TESTS)
	@WHATIF_DECISIONS=$(DECISIONS) $(RUN_TESTS) --filter 'WhatIfTests/same'

.PHONY: sequences
SEQUENCES ?= 10000
sequences: install ## run SEQUENCES=n (10,000) random lives of the index of ads, each held against the rules ad by ad
	$(BUILD_TESTS)
	@INDEX_SEQUENCES=$(SEQUENCES) $(RUN_TESTS) --filter 'IndexSequenceTests/sequences'

.PHONY: month
MONTH_DAYS ?= 30
month: install-tests ## run MONTH_DAYS=n (30) simulated days on a real PostgreSQL: accounts compared daily, figures of growth printed
	$(BUILD_TESTS)
	@MONTH_DAYS=$(MONTH_DAYS) $(RUN_TESTS) --filter 'MonthTests'

.PHONY: golden
golden: install-tests ## run the golden case with all devices over Kafka, and again over the edge; `test` has half over each
	$(BUILD_TESTS)
	@GOLDEN_WAYS=apart $(RUN_TESTS) --filter 'GoldenCaseTests'

.PHONY: offline
OFFLINE_MINUTES ?= 60
offline: install-tests ## kill a device twice and keep it off line for OFFLINE_MINUTES=n (60): then all of it counts, once, in order
	$(BUILD_TESTS)
	@OFFLINE_MINUTES=$(OFFLINE_MINUTES) $(RUN_TESTS) --filter 'DeviceTests/killedTwice'

.PHONY: faults
faults: SEEDS := 1,2,3
faults: release install-tests ## make faults with real processes under SEEDS=1,2,3; FAULTS=NAMES makes only these
	$(SWIFT) build -c release --product Faults
	@exec "$$($(SWIFT) build -c release --show-bin-path)/Faults" --seeds $(SEEDS) \
	  $(if $(FAULTS),--only $(FAULTS)) $(FAULT_ARGUMENTS)

.PHONY: fuzz
fuzz: install ## feed every decoder with FUZZ_SECONDS (60) of inputs that reach new code; FUZZ_TARGETS=NAMES for some
	FUZZING=1 $(SWIFT) build -c release --product Fuzzer --scratch-path .build/fuzz
	@Tests/Fuzz/fuzz .build/fuzz/release/Fuzzer

.PHONY: lint
lint: ## check the format of all Swift sources
	$(SWIFT) format lint --strict --recursive --parallel $(SOURCES)

.PHONY: format
format: ## bring all Swift sources into the format
	$(SWIFT) format --in-place --recursive --parallel $(SOURCES)

.PHONY: images
images: ## build the container images, by podman, buildah or docker; needs no base image
	@deploy/install images
	@deploy/images

.PHONY: test-containers
test-containers: ## try the images on a real Kafka and PostgreSQL; skipped, visibly, without podman or images
	@deploy/test-containers

.PHONY: clean
clean: ## remove everything that was built
	rm -rf .build
