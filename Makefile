# Every target works on a fresh machine with Go; other missing tools are installed on the way.

HOME_DIR := $(or $(CONVEYOR_HOME),.conveyor)
TOOLS    := $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/conveyor/tools
CONVEYOR := bin/conveyor

# One toolchain and one set of flags for all that is compiled, tools and Temporal's server (internal/devstack) too: each
# package of the standard library is compiled once, and what is compiled has no paths of this folder in it, so that it
# serves every clone of the user. The tags leave out what nothing here uses: gin's MessagePack, gRPC of Google's storage.
# Compilers live for a second: they collect no garbage before they have 2 GiB, which saves a tenth of their time.
export GOTOOLCHAIN := go1.26.10
COMPILER_HEAP      := GOGC=off GOMEMLIMIT=2GiB
TAGS               := nomsgpack,disable_grpc_modules
BUILD_FLAGS        := -trimpath -tags=$(TAGS) -gcflags=all=-dwarf=false '-toolexec=env $(COMPILER_HEAP)'
export GOFLAGS     := $(GOFLAGS) $(BUILD_FLAGS)

# Extra arguments: `make test ARGS='-run TestBridge -v' PKG=./bridge`, `make run ARGS=--services-only`.
ARGS ?=
PKG  ?=

# Packages whose tests need a service, in the order in which they begin: the long ones are the first. test/faults and
# test/cluster kill services of their own: of the first only the tests that read ledgers are in the gate. All others are
# pure: the test cache answers for what has not changed.
SERVICED := ./api/... ./bridge ./internal/browser ./internal/launch ./db/... ./cmd/conveyor ./internal/devstack/... ./internal/limit ./test/faults
PURE      = $$(go list ./... | grep -vE '/conveyor/(api|bridge|db|cmd|internal/(browser|launch|devstack|limit)|test)(/.*)?$$')

# $(call tool,VARIABLE,PACKAGE,VERSION): where a tool is, and how it comes there. The version is part of the file name, so a
# bump installs anew.
define tool
$(1) := $(TOOLS)/$(notdir $(2))@$(3)
$(TOOLS)/$(notdir $(2))@$(3): | need-go
	@echo "installing $(notdir $(2)) $(3), which may take some minutes"
	@GOBIN=$(abspath $(TOOLS)) GOFLAGS="$(BUILD_FLAGS)" go install $(2)@$(3)
	@mv $(TOOLS)/$(notdir $(2)) $$@
endef
$(eval $(call tool,LINT,github.com/golangci/golangci-lint/v2/cmd/golangci-lint,v2.15.0))
$(eval $(call tool,WORKFLOWCHECK,go.temporal.io/sdk/contrib/tools/workflowcheck,v0.6.0))
$(eval $(call tool,VULNCHECK,golang.org/x/vuln/cmd/govulncheck,v1.8.0))
$(eval $(call tool,GOTESTSUM,gotest.tools/gotestsum,v1.13.0))
$(eval $(call tool,OASDIFF,github.com/oasdiff/oasdiff,v1.37.0))

.DEFAULT_GOAL := help
.PHONY: help run build cluster web web-dev image test test-fast test-slow test-e2e test-all test-web test-pgbouncer \
	test-console test-tour test-cluster test-cluster-long test-faults test-faults-short check lint fresh chart vuln tools bench bench-volume replay-fixtures clean need-go

help: ## List these targets.
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / {printf "  make %-18s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

run: build ## Install missing tools, start everything, print all addresses. Ctrl-C stops it.
	@exec $(CONVEYOR) up $(ARGS)

cluster: build ## Start every engine as a cluster, and three hosts of Conveyor, in network namespaces. Needs root.
	@exec $(CONVEYOR) cluster up $(ARGS)

build: need-go ## Build bin/conveyor.
	@mkdir -p bin
	@go build -o $(CONVEYOR) ./cmd/conveyor

IMAGE_VERSION  = $(or $(CONVEYOR_VERSION),$(shell git describe --tags --always --dirty 2>/dev/null),devel)

# Node and the packages of the console, and its types of the API.
IN_WEB = export PATH="$$(web/node.sh $(abspath $(TOOLS))):$$PATH" && cd web && \
	npm ci --ignore-scripts --no-audit --no-fund && npm run types
WEB_TESTS = npm test -- --pool=threads

web: ## Build the console into web/dist, which is committed. Installs Node where there is none.
	@$(IN_WEB) && npm run build && $(WEB_TESTS)

web-dev: ## Serve the console from its sources at :5173, with the API of `make run`.
	@$(IN_WEB) && npm run dev

test-web: ## Check the types of the console and run its unit tests.
	@$(IN_WEB) && npm exec tsc && $(WEB_TESTS)

image: ## Build the container image, conveyor:<version>.
	docker build --build-arg CONVEYOR_VERSION=$(IMAGE_VERSION) -t conveyor:$(IMAGE_VERSION) .

# $(call tests,NAME,PACKAGES,ARGUMENTS): go test by way of gotestsum, with its ten slowest tests at the end. Two packages at
# a time: more would test the machine, not the code. A test that fails is run once more, alone; what passed only then is
# printed last, and belongs in test/flakes.tsv.
tests = test/run "$(GOTESTSUM)" bin/$(1) "$(2)" -timeout 40m -p 2 $(3) $(ARGS)
ON_SERVICES = CONVEYOR_TEST_BINARY=$(abspath $(CONVEYOR)) $(CONVEYOR) with-services --only postgres,redis,rabbitmq,temporal,chromium --

test: build $(GOTESTSUM) $(if $(PKG),,test-fast) ## The gate, ten minutes: against real services of its own. PKG=./db: all tests of a package.
	@$(ON_SERVICES) $(call tests,test,$(or $(PKG),./test/e2e $(SERVICED)),-count=1 $(if $(PKG),,-short))

test-slow: build $(GOTESTSUM) ## The gate's packages whole: scale, real time. After a change to db, limit, browser.
	@$(call tests,pure,$(PURE))
	@go -C bench test -vet=off .
	@$(ON_SERVICES) $(call tests,slow,$(filter-out ./test/faults,$(SERVICED)),-count=1)

test-e2e: build $(GOTESTSUM) ## Everything end to end. After a change to a workflow, an activity or a role.
	@$(ON_SERVICES) $(call tests,e2e,./test/e2e,-count=1)

# Nothing that is skipped here looks green: with CI set, tests fail that would pass without having run, as where no network
# namespaces can be made (test-cluster).
test-all: export CI := $(or $(CI),true)
test-all: check test-web test-slow test-e2e test-faults-short test-pgbouncer test-console test-tour test-cluster ## All of these, one after another, and nothing skipped.
	@if grep -h '"Action":"skip"' bin/pure.json bin/slow.json bin/e2e.json bin/faults.json | grep '"Test"'; then \
		echo "test-all: these were skipped"; exit 1; fi
	@echo "test-all: all good; write the line of docs/nightly.md"

test-fast: need-go $(GOTESTSUM) ## Run the tests that need no services: domain, workflows, activities, workers, layers.
	@$(call tests,fast,$(PURE),-short)

test-faults-short: need-go $(GOTESTSUM) ## Ledgers of faults, short, with a new seed. After a change to bridge, db or a role.
	@$(call tests,faults,./test/faults,-count=1 -parallel 1 -timeout 60m)

# The whole of db passes too, by hand: -- go test ./db/.... Browsers and other engines do not see the pooler.
test-pgbouncer: build ## What leans on sessions, through PgBouncer: relays, tenants, adverts end to end.
	@$(CONVEYOR) with-services --only pgbouncer,rabbitmq,redis,temporal -- go test -count=1 -timeout 10m \
		-run '$(POOLED)' ./db/... ./bridge ./test/e2e $(ARGS)

POOLED = ^Test(SharedSessionsKeepTenantsApart|PooledConnectionsLeaveNothing|SessionsHaveLimits|Tenancy|Lease.*|WaitIsWoken|$\
	RelayIsWoken|TwoRelaysDoNotOverlap|ReceiveConcurrently|PublishHistory|SearchFilters|$\
	LateStatementsKeepTheirConnections|LateCancelsHitNoOther|$\
	Listings)$$

test-console: build ## Walk every path of the console in a browser, in both themes and widths.
	@$(CONVEYOR) with-services -- go test -count=1 -v -timeout 30m -run Console ./test/e2e -args -console $(ARGS)

test-tour: build ## Take the tour of the README, command by command: a quarter of an hour.
	@go test -tags tour,$(TAGS) -count=1 -v -timeout 60m ./test/tour $(ARGS)

test-cluster: need-go ## Engines as clusters, a primary cut off, a slow link. Needs root.
	@go test -tags cluster,$(TAGS) -count=1 -timeout 15m ./test/cluster $(ARGS)

test-cluster-long: need-go ## Every failure of a cluster ten times, then with a ledger: an hour. Needs root.
	@go test -tags cluster,$(TAGS) -count=1 -v -timeout 90m ./test/cluster -args -long
	@mkdir -p bin
	@go test -tags cluster,$(TAGS) -count=1 -v -timeout 90m -run TestTheLedgerOfTheClusterBalances ./test/faults \
		-args -long -json $(abspath bin)/cluster.json $(ARGS)

test-faults: need-go ## Seven ledgers of faults and each service away for five minutes, long: two hours and a quarter.
	@mkdir -p bin
	@go test -count=1 -v -timeout 180m -run 'TestTheLedger(OfCrawls|OfSearch|OfImports|OfCampaigns|OfSavedSearches|OfReleases)?Balances|TestEachServiceIsAwayInTurn' ./test/faults -args -long -json $(abspath bin)/faults.json $(ARGS)

check: need-go lint fresh chart vuln ## Format, vet, lint, layers, determinism, generated files, the chart, known vulnerabilities.
	@echo "check: all good$$([ ! -e bin/vuln.unchecked ] || echo ', vulnerabilities not checked')"

# bench is a module of its own, so that its yardsticks are no dependencies of the product: what ./... names leaves it out.
lint: $(LINT) $(WORKFLOWCHECK)
	@unformatted=$$({ go list -f '{{.Dir}}' ./...; go -C bench list -f '{{.Dir}}' ./...; } | xargs gofmt -l | sort -u); \
	if [ -n "$$unformatted" ]; then echo "not formatted, run gofmt -w:"; echo "$$unformatted"; exit 1; fi
	$(LINT) run --allow-parallel-runners ./...
	cd bench && $(LINT) run --allow-parallel-runners ./...
	go test -vet=off -count=1 -run 'TestImports|TestFlakes' .
	$(WORKFLOWCHECK) ./workflows/...

# A module of its own, so that Helm and the types of Kubernetes are no part of ours.
chart: build
	CONVEYOR_TEST_BINARY=$(abspath $(CONVEYOR)) go -C deploy/helm/test test -vet=off -count=1 ./...

fresh: $(OASDIFF)
	go mod tidy -diff
	go -C bench mod tidy -diff
	@before=$$(git diff | cksum); go generate ./... || exit 1; \
	if [ "$$before" != "$$(git diff | cksum)" ]; then echo "generated files were stale: commit the changes"; exit 1; fi
	go test -vet=off -count=1 -run '^Test(DistIsFresh|SettingsAreDocumented|DocumentedEndpoints)$$' \
		./web ./internal/config ./cmd/conveyor
	@# What callers of the last release rely on. Sets of values may grow.
	$(OASDIFF) breaking --fail-on ERR --severity-levels api/testdata/oasdiff.levels \
		--err-ignore api/testdata/openapi.broken.txt api/testdata/openapi.released.yaml api/testdata/openapi.golden.yaml

# Without its database (https://vuln.go.dev, or a mirror in GOVULNDB) nothing can be said: VULN=required fails then.
VULN ?=

vuln: $(VULNCHECK) ## Look for known vulnerabilities in what our code calls.
	@mkdir -p bin; rm -f bin/vuln.unchecked; status=0; \
	if [ -z "$(VULN)$(GOVULNDB)" ] && command -v getent >/dev/null && ! getent hosts vuln.go.dev >/dev/null; then \
		echo "govulncheck: NOT CHECKED, there is no vuln.go.dev here (set GOVULNDB to a mirror)"; touch bin/vuln.unchecked; exit 0; \
	fi; \
	for module in . bench; do \
		[ $$status != 0 ] || $(VULNCHECK) $(addprefix -db=,$(GOVULNDB)) -C $$module ./... >bin/vuln.log 2>&1 || status=$$?; \
	done; \
	if [ $$status = 0 ]; then echo "govulncheck: no vulnerability is called"; \
	elif [ $$status != 3 ] && grep -q 'fetching vulnerabilities' bin/vuln.log && [ -z "$(VULN)" ]; then \
		echo "govulncheck: NOT CHECKED, the database of vulnerabilities cannot be reached (set GOVULNDB to a mirror):"; \
		tail -1 bin/vuln.log; touch bin/vuln.unchecked; \
	else cat bin/vuln.log; exit 1; fi

tools: $(LINT) $(WORKFLOWCHECK) $(VULNCHECK) $(GOTESTSUM) $(OASDIFF)

bench: build ## Measure listings a second, latency and cost on services of its own, beside two yardsticks.
	@go -C bench build -o ../bin/bench .
	@echo "all roles in one process, as make run starts them:"
	@$(CONVEYOR) with-services --durable -- bin/bench -one-process -json bin/bench-one-process.json $(ARGS)
	@echo "one process per role:"
	@$(CONVEYOR) with-services --durable -- bin/bench -json bin/bench.json $(ARGS)
	@echo "the outbox relay, from a filled outbox to confirms of a quorum queue:"
	@$(CONVEYOR) with-services --durable --only postgres --only rabbitmq -- \
		go test -run '^$$' -bench Relay -benchtime 1x ./bridge

bench-volume: build ## Measure what reads or walks whole tables, among three million adverts: 20 GB of disk, half an hour.
	@go -C bench build -o ../bin/bench .
	@$(CONVEYOR) with-services --durable -- bin/bench -one-process -only volume -json bin/bench-volume.json $(ARGS)

replay-fixtures: build ## Record workflow histories for the replay tests. Only from code that is deployed.
	@$(CONVEYOR) with-services -- go test -count=1 ./test/e2e -run TestHistoriesReplay -record ../../workflows/testdata/replay

clean: ## Remove builds, local data and logs. Stop a running stack first.
	@for lock in $(HOME_DIR)/lock $(HOME_DIR)/*/lock $(HOME_DIR)/*/*/lock; do \
		if [ -e "$$lock" ] && ! flock -n "$$lock" true; then \
			echo "conveyor runs in $${lock%/lock}: stop it first ($$(cat "$$lock"))"; exit 1; fi; done
	@for data in $(HOME_DIR)/data/postgres $(HOME_DIR)/*/data/postgres $(HOME_DIR)/*/*/data/postgres; do \
		at=$$(readlink "$$data"); case "$$at" in /var/lib/conveyor/stack-*/postgres) \
		rm -rf "$$(dirname "$$at")";; esac; done # data that lies elsewhere, for root
	rm -rf bin $(HOME_DIR) coverage.out

need-go:
	@command -v go >/dev/null || { echo "Go is missing. Install Go 1.26 or newer: https://go.dev/dl (the golang package" \
		"of Debian 12 is too old), then run make again."; exit 1; }
	@v=$$(go env GOVERSION | sed 's/^go1\.\([0-9]*\).*/\1/'); [ "$$v" -ge 26 ] 2>/dev/null || { \
		echo "$$(go version) is too old. Install Go 1.26 or newer: https://go.dev/dl"; exit 1; }
