# The commands for developers: make help lists them.
GO       ?= go
# Gin without its MessagePack codec: half the size.
TAGS     := nomsgpack
TOOL     := $(GO) tool -modfile=tools/go.mod
ARGS     ?=
PACKAGES ?= ./...
SOAK     ?= 1m
OPENAPI  := internal/api/openapi.yaml
# This file exists when npm has installed the tools that need Node.js.
NPM      := tools/npm/node_modules/.package-lock.json

.DEFAULT_GOAL := help
.PHONY: help run build test check fmt bench bench-scale soak clean

help: ## list these commands
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

run: build ## start PostgreSQL and the server on this machine, with sample data and a key (ARGS="--addr 127.0.0.1:9000 --dir DIR")
	@[ -n "$$PETSTORE_DATABASE_URL" ] || tools/install.sh postgres
	@exec bin/petstore dev $(ARGS)

build: ## build bin/petstore and bin/petstorectl
	@mkdir -p bin
	@$(GO) build -tags $(TAGS) -trimpath -o bin/ ./cmd/petstore ./cmd/petstorectl

# The end-to-end tests of what HTTP itself does, which run a second time without the fast path. The others start several servers, of
# which every second has it off.
HTTP_TESTS = ^Test(OngoingRequestIsFinished|OngoingListIsFinished|GoClient|IdempotencyKey|OrderMovesItsAnimal|KeyLimitAndUsage)$$

# The end-to-end tests measure delays, so they run alone, after all others, which mostly wait for databases. With the race detector the
# simulation runs a tenth of its schedules, so it runs once more without. make check runs go vet.
test: ## run all tests with the race detector, on PostgreSQL and Redis servers that they start (PACKAGES=./internal/keys)
	@tools/install.sh postgres redis-server chromium npm wrk pgbouncer python3 curl || :
	@all=$$($(GO) list $(PACKAGES)) || exit 1; failed=0; \
	for of in -v -e; do \
	  packages=$$(echo "$$all" | grep $$of '/internal/e2e$$'); \
	  [ -z "$$packages" ] || $(GO) test -tags $(TAGS) -p 3 -race -vet off -timeout 9m $$packages || failed=1; \
	done; \
	[ "$(PACKAGES)" != ./... ] || $(GO) test -tags $(TAGS) -vet off ./internal/limits/distributed/simtest || failed=1; \
	[ "$(PACKAGES)" != ./... ] || PETSTORE_E2E_SERVER_ENV=PETSTORE_HTTP_FAST_PATH=off \
	  $(GO) test -tags $(TAGS) -race -vet off -timeout 9m -run '$(HTTP_TESTS)' ./internal/e2e || failed=1; \
	exit $$failed

check: $(NPM) ## check formatting and module files; run go vet and the linters; lint the OpenAPI document and compare it with the released one
	@test -z "$$(gofmt -l $$(git ls-files '*.go'))" || { echo 'not formatted (make fmt):'; gofmt -l $$(git ls-files '*.go'); exit 1; }
	$(GO) mod tidy -diff
	$(GO) vet -tags $(TAGS) ./...
	$(TOOL) golangci-lint run --build-tags $(TAGS) ./...
	@REDOCLY_SUPPRESS_UPDATE_NOTICE=true tools/npm/node_modules/.bin/redocly lint --config tools/npm/redocly.yaml $(OPENAPI)
	@$(GO) -C tools/breaking test -count=1 .
	@$(GO) -C tools/breaking run . ../../internal/api/released ../../$(OPENAPI)

$(NPM): tools/npm/package-lock.json
	@npm ci --prefix tools/npm --silent --no-audit --no-fund

fmt: ## format all Go files
	@gofmt -w $$(git ls-files '*.go')

bench: build ## compare every case with a bare Gin server; writes docs/benchmarks.md and bench/results.json (ARGS="-cases list_memory -rounds 1")
	@tools/install.sh postgres redis-server wrk
	$(GO) run -tags $(TAGS) ./bench $(ARGS)

bench-scale: ## measure how costs grow with animals, keys, servers and requests; writes docs/benchmarks-scale.md (ARGS="-only servers")
	@tools/install.sh postgres redis-server
	$(GO) run -tags $(TAGS) ./bench/scale $(ARGS)

# The packages with tests that PETSTORE_SOAK=1 makes longer.
SOAKED = $(shell grep -rl PETSTORE_SOAK --include='*_test.go' internal | xargs -n 1 dirname | sort -u | sed 's,^,./,')

soak: ## run the long tests: generated requests, 200,000 schedules of faults, end-to-end on servers with the race detector, every fuzzer for SOAK=1m
	@tools/install.sh postgres redis-server
	PETSTORE_SOAK=1 $(GO) test -tags $(TAGS) -timeout 60m -v $(filter-out ./internal/e2e,$(SOAKED))
	for mode in on off; do \
	  PETSTORE_E2E_SERVER_ENV=PETSTORE_HTTP_FAST_PATH=$$mode PETSTORE_SOAK=1 PETSTORE_E2E_RACE=1 \
	    $(GO) test -tags $(TAGS) -race -timeout 60m -v ./internal/e2e || exit 1; \
	done
	@for package in $$($(GO) list ./...); do \
	  for fuzzer in $$($(GO) test -tags $(TAGS) -list '^Fuzz' $$package | grep '^Fuzz'); do \
	    echo "== $$package $$fuzzer"; \
	    $(GO) test -tags $(TAGS) -run '^$$' -fuzz "^$$fuzzer\$$" -fuzztime $(SOAK) $$package || exit 1; \
	  done; \
	done

clean: ## remove bin; the data of make run stays in .petstore
	rm -rf bin
