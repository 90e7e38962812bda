# Holdfast. Two commands matter: make run, make test. Everything they need beyond Go and git they set up themselves.

GO ?= go
# Scripts below rely on a shell that stops at the first failure.
SHELL := bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help

CORE_SRC := $(shell find actor interactions worker/core worker/fuel -name '*.go' ! -name '*_test.go' ! -path '*/testdata/*')
CORE := build/core.wasm
API := build/api.wasm
API_SRC := $(shell find worker/edge/operator worker/api actor/errs -name '*.go' ! -name '*_test.go')
EMBEDDED := worker/engine/corewasm/core.wasm
# Packages whose own goroutines are worth the race detector's price.
RACE := $(patsubst %,./%/...,$(wildcard worker/host worker/engine worker/api gatewayrelay runner playground cmd))
FUZZTIME ?= 30s

.PHONY: help
help: ## this list
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:[^#]*## /\t/' | expand -t 12

.PHONY: run
run: build/holdfast sandbox ## start edge, playground and runner on a sample project; prints one URL (ARGS="--help")
	@exec build/holdfast run $(ARGS)

.PHONY: core
core: $(CORE) $(EMBEDDED) ## build the core, the same bytes for every host

# The core: a wasip1 reactor, then the fuel counter that bounds every call (docs/protocol.md).
$(CORE): $(CORE_SRC) go.mod go.sum
	@mkdir -p build
	GOOS=wasip1 GOARCH=wasm $(GO) build -buildmode=c-shared -trimpath -ldflags="-s -w" -o build/core.raw.wasm ./worker/core
	$(GO) run ./worker/fuel/instrument build/core.raw.wasm $(CORE)

$(EMBEDDED): $(CORE)
	cp $(CORE) $(EMBEDDED)

# The edge's program for operators, and what Go brings to run it in JavaScript: of the same toolchain, so made together.
.PHONY: api
api: $(API)

$(API): $(API_SRC) go.mod go.sum
	@mkdir -p build
	GOOS=js GOARCH=wasm $(GO) build -trimpath -ldflags="-s -w" -o $(API) ./worker/edge/operator
	cp -f "$$($(GO) env GOROOT)/lib/wasm/wasm_exec.js" build/wasm_exec.js

# go build decides for itself what is out of date.
.PHONY: build/holdfast
build/holdfast: $(EMBEDDED)
	$(GO) build -trimpath -o build/holdfast ./cmd/holdfast

# Commands run in bubblewrap. Without it Holdfast starts all the same and offers no bash.
.PHONY: sandbox
sandbox:
	@if command -v bwrap >/dev/null; then :; \
	elif [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
		echo "Installing bubblewrap, the sandbox for commands…"; \
		{ apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq bubblewrap; } >/dev/null || echo "That failed; going on without commands."; \
	else \
		echo "bubblewrap is missing, so the agent gets no bash. Install it with your package manager (Debian, Ubuntu: sudo apt-get install bubblewrap)."; \
	fi

.PHONY: node
node: node_modules/.package-lock.json

node_modules/.package-lock.json: package.json package-lock.json
	npm ci --no-audit --no-fund
	@touch $@

.PHONY: dev
dev: core api node ## the edge as Cloudflare runs it, on this machine (wrangler dev)
	npm run dev

.PHONY: deploy
deploy: core api node ## deploy to your Cloudflare account (wrangler deploy)
	npm run deploy

.PHONY: dry-run
dry-run: core api node
	npm run dry-run

# What starts whole deployments, workerd or a browser runs alone, so that nothing there waits for somebody else's build.
WHOLE := ./rig/... ./playground/clienttest ./worker/edge/...

.PHONY: test
test: core api sandbox node build/holdfast ## every test: units, simulator, scenarios on each host, the page in a browser
	$(GO) test -timeout 12m $$($(GO) list ./... | grep -vE '^holdfast/(rig|playground/clienttest|worker/edge)(/|$$)')
	cd actor/model/sdktest && $(GO) test ./...
	$(GO) test -p 1 -timeout 20m $(WHOLE)

.PHONY: check
check: format generated vet tidy dry-run race test ## what CI runs

.PHONY: format
format:
	@out=$$(gofmt -l $$(git ls-files '*.go')); [ -z "$$out" ] || { echo "not formatted:"; echo "$$out"; exit 1; }

# Encoders and decoders of the wire's types (actor/codec.go). The generator needs the package to compile, so it runs on it
# as it is.
.PHONY: generated
generated:
	@$(GO) generate ./actor ./interactions
	@git diff --exit-code -- '*_easyjson.go' || { echo "generated code was out of date: commit it"; exit 1; }

# The embedded core exists before anything looks at the package that embeds it.
.PHONY: vet
vet: core
	$(GO) vet ./...
	GOOS=js GOARCH=wasm $(GO) vet ./worker/edge/operator
	$(GO) tool staticcheck ./...

.PHONY: tidy
tidy:
	$(GO) mod tidy -diff
	$(GO) mod verify

.PHONY: race
race: core
	$(GO) test -race -short -timeout 10m $(RACE)

.PHONY: fuzz
fuzz: ## run every fuzz target for FUZZTIME (30s)
	@for pkg in $$(grep -rlE '^func Fuzz' --include='*_test.go' . | xargs -n1 dirname | sort -u); do \
		for target in $$(grep -hoE '^func Fuzz\w+' $$pkg/*_test.go | sed 's/func //'); do \
			echo "$$pkg $$target"; \
			$(GO) test -run '^$$' -fuzz "^$$target$$" -fuzztime $(FUZZTIME) $$pkg; \
		done; \
	done

.PHONY: bench
bench: core build/holdfast node ## measure beside floors; writes build/bench.md and fails on a broken bound (ARGS="-only ack")
	$(GO) run ./bench $(ARGS)

# Seeds of the simulator; it prints a coverage table, and for a failing seed one command that plays it again.
SEEDS ?= 10000

.PHONY: sim
sim: ## simulate whole deployments on SEEDS seeded schedules (10000)
	$(GO) run ./actor/sim/cmd -seeds $(SEEDS)

.PHONY: sim-mutants
sim-mutants: ## check that the simulator catches each planted defect within 2000 seeds
	$(GO) run -tags mutants ./actor/sim/cmd -mutants -seeds 2000

.PHONY: crash
crash: core sandbox node ## kill edge and runner at random under load; writes build/crash-<host>.md (N=200, HOST=selfhosted, linked or workerd)
	$(GO) run ./rig/crash -n "$(or $(N),0)" -host "$(HOST)"

.PHONY: clean
clean: ## remove what was built
	rm -rf build $(EMBEDDED)
