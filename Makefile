# The commands for developers: make help lists them.
GO       ?= go
# Gin without its MessagePack codec: half the size.
TAGS     := nomsgpack
TOOL     := $(GO) tool -modfile=tools/go.mod
ARGS     ?=
# What a developer's shell has set for go does not change what is built, and go needs a HOME.
export GOFLAGS :=
export HOME    ?= $(shell eval echo "~$$(id -un)")
# Builds what runs the tests, and installs the programs that the tests of PACKAGES start in test or test-all. It fails with one line for each that is missing.
PREPARE   = $(GO) -C tools/suite build -trimpath -o ../../bin/suite . && needs=$$(bin/suite needs $(1) $(PACKAGES)) && tools/install.sh curl $$needs && \
            case " $$needs " in *' npm '*) $(MAKE) -s $(NPM) ;; esac
# Where make build puts the programs, what it tells the linker, -X main.version=v1.2.3, and further flags of go build.
BIN      ?= bin
LDFLAGS  ?=
FLAGS    ?=
PACKAGES ?= ./...
COUNT    ?= 20
ROUNDS   ?= 10
SOAK     ?= 1m
OPENAPI  := internal/api/openapi.yaml
# This file exists when npm has installed the tools that need Node.js.
NPM      := tools/npm/node_modules/.package-lock.json
# And this one when npm has installed what clients/typescript is built with.
TYPESCRIPT := clients/typescript/node_modules/.package-lock.json

.DEFAULT_GOAL := help
.PHONY: help run clients build test test-all flakes check check-code check-requests check-deploy outdated fmt cross generate reference man package release-snapshot release release-all release-files image bench bench-scale model mutants soak clean

help: ## list these commands
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-16s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

run: build ## start PostgreSQL and the server on this machine, with sample data and a key (ARGS="--addr 127.0.0.1:9000 --dir DIR")
	@[ -n "$$PETSTORE_DATABASE_URL$$PETSTORE_DATABASE_URL_FILE" ] || tools/install.sh postgres
	@exec bin/petstore dev $(ARGS)

build: ## build bin/petstore and bin/petstorectl, linked statically
	@mkdir -p "$(BIN)"
	@[ -x "$(BIN)/petstore" ] || echo 'Building the programs. The first time it takes about two minutes.' >&2
	@CGO_ENABLED=0 $(GO) build $(FLAGS) -tags $(TAGS) -trimpath -ldflags '$(LDFLAGS)' -o "$(BIN)/" ./cmd/petstore ./cmd/petstorectl

test: ## run the tests that a person waits for, on a PostgreSQL and a Redis that it starts (PACKAGES=./internal/keys: all of these)
	@$(call PREPARE,test)
	@bin/suite test $(PACKAGES)

test-all: ## run the other tests: end-to-end, with proxies, a browser and alerts, and with the race detector (PACKAGES=./internal/keys)
	@$(call PREPARE,test-all)
	@bin/suite test-all $(PACKAGES)

flakes: ## run copies of the tests beside each other and beside busy loops, and print how many passed (PACKAGES=./internal/keys COUNT=20)
	@$(call PREPARE,test-all)
	@tools/flakes.sh "$(COUNT)" $(or $(PACKAGES),./...)

# Has the settings of make build and of tests, so that what they have compiled is used again.
COMPILED := CGO_ENABLED=0 GOFLAGS=-trimpath

check: cross ## check formatting and module files; run go vet and the linters; build petstorectl for all systems; lint the OpenAPI document and compare it with the released one; make clients of it; try our packages with each Python, Node.js and TypeScript; send generated requests; check deploy/
	@tools/install.sh postgres npm python3 python3-venv curl
	@$(MAKE) -s $(NPM)
	@$(MAKE) -s build
	@$(MAKE) --no-print-directory -j 2 check-code check-requests
	@$(MAKE) -s check-deploy

# Beside check-code: Schemathesis keeps one processor busy, and no more.
check-requests:
	@tools/schemathesis/run.sh 5000

check-code:
	@$(FMT) --diff >/dev/null || { echo 'not formatted (make fmt):'; $(FMT) --diff; exit 1; }
	$(GO) mod tidy -diff
	$(GO) test -tags $(TAGS) ./internal/ctl/gendoc
	@$(DOCSITE) bin/site && diff -r bin/site internal/api/reference/site || { echo 'the documentation pages are not those of docs/ and openapi.yaml: make generate'; exit 1; }
	$(GO) -C clients/go mod tidy -diff
	$(COMPILED) $(GO) vet -tags $(TAGS) ./... petstore.example/client
	@# clients/go is a module of its own.
	lint=$$($(TOOL) -n golangci-lint) && $(COMPILED) && export CGO_ENABLED GOFLAGS && \
	  "$$lint" run --allow-parallel-runners --build-tags $(TAGS) ./... && cd clients/go && "$$lint" run --allow-parallel-runners ./...
	@REDOCLY_SUPPRESS_UPDATE_NOTICE=true tools/npm/node_modules/.bin/redocly lint --config tools/npm/redocly.yaml $(OPENAPI)
	@tools/npm/node_modules/.bin/spectral lint --ruleset tools/npm/spectral.yaml --fail-severity hint --quiet $(OPENAPI)
	@$(GO) -C tools/release test -count=1 .
	@$(GO) -C tools/breaking test -count=1 .
	@$(GO) -C tools/breaking run . ../../internal/api/released ../../$(OPENAPI)
	@$(GO) -C tools/clients vet . && $(GO) -C tools/clients test -count=1 .
	@$(GO) -C tools/suite vet . && $(GO) -C tools/suite test -count=1 .
	@MAKEFLAGS= $(MAKE) -s test PACKAGES="./internal/e2e/generators ./internal/e2e/packages"
	PETSTORE_SOAK=1 $(COMPILED) $(GO) test -tags $(TAGS) -vet off -count=1 -run '^Test(Python(Client|Types)|TypeScript(Package|Readme))$$' ./internal/e2e/clients

# It starts the images in namespaces, which only Linux has.
check-deploy: ## check what is in deploy/ with the programs that read it, and start the container images, without Docker or a network
ifeq ($(shell uname),Linux)
	@tools/install.sh postgres redis-server nginx haproxy caddy systemd-analyze prometheus
	@VERSION=0.1.0 $(MAKE) -s image
	@$(GO) -C tools/deploycheck vet . && $(GO) -C tools/deploycheck test -count=1 .
else
	@echo 'make check-deploy needs Linux: deploy/ was not checked'
endif

$(NPM): tools/npm/package-lock.json
	@npm ci --prefix tools/npm --silent --no-audit --no-fund

$(TYPESCRIPT): clients/typescript/package-lock.json
	@npm ci --prefix clients/typescript --silent --ignore-scripts --no-audit --no-fund

# The modules that a go.mod names. Those that only others need are not of interest.
REQUIRED = awk '/^require \(/ { r = 1; next } /^\)/ { r = 0 } r { print $$1 } /^require [^(]/ { print $$2 }'

outdated: ## say which dependencies in go.mod files have a newer version; never an error
	@for f in $$(git ls-files 'go.mod' '*/go.mod'); do \
	  $(GO) -C "$$(dirname "$$f")" list -m -u -mod=mod -e -f "{{with .Update}}$$f: {{.Path}} {{\$$.Version}}, latest {{.Version}}{{end}}" \
	    $$($(REQUIRED) "$$f") 2>/dev/null | grep . || echo "$$f: nothing newer is known"; \
	done

# The systems that petstorectl is for.
PLATFORMS := linux/amd64 linux/arm64 darwin/amd64 darwin/arm64 windows/amd64 windows/arm64

cross: ## check that petstorectl builds for Linux, macOS and Windows
	@for p in $(PLATFORMS); do \
	  CGO_ENABLED=0 GOOS=$${p%/*} GOARCH=$${p#*/} $(GO) build -tags $(TAGS) -trimpath -o /dev/null ./cmd/petstorectl || { echo "petstorectl does not build for $$p"; exit 1; }; \
	done

# golines, with the settings of .golangci.yml; it leaves what is generated.
FMT = $$($(TOOL) -n golangci-lint) fmt $$(git ls-files '*.go')

fmt: ## format all Go files, and wrap their lines at 120 columns
	@$(FMT)

reference: ## rewrite what is made of the commands of petstorectl: docs/reference and the golden help texts of its tests
	@$(GO) run -tags $(TAGS) ./internal/ctl/gendoc

# It writes the pages of the server that are made of docs/ and the OpenAPI document.
DOCSITE = $(GO) -C tools/docsite build -o ../../bin/docsite . && bin/docsite

generate: reference $(TYPESCRIPT) ## rewrite all that is generated: reference, the documentation pages that the server embeds, the types of clients/typescript, and the chart's copy of the alerts
	@cp deploy/prometheus/alerts.yml deploy/helm/petstore/files/petstore.rules.yaml
	@$(DOCSITE) internal/api/reference/site
	@node clients/typescript/scripts/generate.mjs --write

# Servers hand out what is committed in clients/released, so that make build needs neither Node.js nor Python.
clients: ## build the packages for customers that changed into clients/released (ONLY=go needs Go alone)
	@[ '$(ONLY)' = go ] || tools/install.sh npm python3 python3-venv
	@tools/clients/build.sh $(ONLY)

# With the settings of make build, so that what it has compiled is used again.
man: ## write the man pages of both programs to bin/man (man -M bin/man petstorectl-key-issue)
	@mkdir -p bin/man/man8
	@SOURCE_DATE_EPOCH=$(COMMIT_TIME) CGO_ENABLED=0 $(GO) run -tags $(TAGS) -trimpath ./internal/ctl/gendoc -man bin/man/man1
	@SOURCE_DATE_EPOCH=$(COMMIT_TIME) CGO_ENABLED=0 $(GO) test -tags $(TAGS) -trimpath -vet off ./cmd/petstore -run '^TestManPages$$' -args -man "$$PWD/bin/man/man8" >/dev/null

COMMIT_TIME = $$(git log -1 --format=%ct)
# What this commit is released as: its tag, or a snapshot of the version that CHANGELOG.md begins with, which is older than that.
# Its name is not VERSION, because make would export it to image.sh, unexpanded.
RELEASE_VERSION = $$(git describe --exact-match --tags 2>/dev/null || \
  awk '$$1 == "\#\#" { print $$2 "-snapshot.'$(COMMIT_TIME)'"; exit }' CHANGELOG.md)
RELEASE = SOURCE_DATE_EPOCH=$(COMMIT_TIME) bin/release/release

package: release-files ## build the deb and the rpm of this commit into dist, for this machine's architecture
	@rm -rf dist && mkdir dist
	@$(RELEASE) package "$(RELEASE_VERSION)" bin/release dist
	@ls dist/*

release-snapshot: release-all ## build what a release of this commit would consist of into dist: archives, deb, rpm, checksums, bills of materials
	@tools/install.sh postgres rpm systemd-sysusers
	@PETSTORE_E2E_PACKAGES="$$PWD/dist" $(GO) test -tags $(TAGS) -vet off -count=1 ./internal/e2e/packages

release: ## build and sign the release of the tag at this commit into dist (RELEASE_KEY=FINGERPRINT)
	@test -z "$$(git status --porcelain)" || { echo 'the working tree differs from the commit'; exit 1; }
	@CGO_ENABLED=0 $(GO) -C tools/release build -trimpath -o ../../bin/release/release .
	@bin/release/release notes "$$(git describe --exact-match --tags)" >/dev/null
	@$(MAKE) -s release-all
	@gpg --batch --local-user "$(RELEASE_KEY)" --armor --output dist/SHA256SUMS.asc --detach-sign dist/SHA256SUMS

release-all: release-files
	@rm -rf dist && mkdir dist
	@version=$(RELEASE_VERSION) && $(RELEASE) build "$$version" dist && version=$${version#v} && \
	  git archive --prefix="petstore_$$version/" --output="dist/petstore_$${version}_source.tar.gz" HEAD
	@cd dist && sums=$$(sha256sum -- *) && echo "$$sums" >SHA256SUMS

image: ## build the container images bin/image/petstore.tar and petstorectl.tar, for docker load, without a Docker daemon (GOARCH=arm64)
	@tools/install.sh buildah uidmap ca-certificates
	@deploy/docker/image.sh bin/image

# What archives and packages contain besides the files of the repository. A release builds the programs once more, for all systems.
release-files:
	@rm -rf bin/release bin/man && mkdir -p bin/release/completions
	@$(MAKE) -s man && cp -r bin/man bin/release/man && find bin/release/man -name '*.[18]' -exec gzip -9n {} +
	@$(MAKE) -s build BIN=bin/release LDFLAGS='-s -w' FLAGS=-buildvcs=true
	@for p in petstore petstorectl; do \
	  for shell in bash zsh fish powershell; do bin/release/$$p completion $$shell >bin/release/completions/$$p.$$shell || exit 1; done; \
	  mv bin/release/completions/$$p.zsh bin/release/completions/_$$p.zsh; \
	done
	@CGO_ENABLED=0 $(GO) -C tools/release build -trimpath -o ../../bin/release/release .
	@bin/release/release licenses bin/release/THIRD_PARTY_LICENSES.txt

bench: build ## compare every row with a bare Gin server; writes docs/benchmarks.md (ROW=pinned,list ARGS="-rounds 1"); or compare rows with those of another commit's program (AGAINST=main ROW=list,list_redis@5000 ROUNDS=10; a row of another name there: list_memory=list; ARGS=-month gives this program's tenants a month)
	@tools/install.sh postgres redis-server wrk nginx
	@$(if $(AGAINST),tools/against.sh '$(AGAINST)' '$(ROW)' '$(ROUNDS)' '$(ARGS)',$(GO) run -tags $(TAGS) ./bench $(if $(ROW),-cases '$(ROW)') $(ARGS))

bench-scale: build ## measure how costs grow with keys, servers and requests, and what lists of staff cost; writes docs/benchmarks-scale.md (ARGS="-only servers")
	@tools/install.sh postgres redis-server
	$(GO) run -tags $(TAGS) ./bench/scale $(ARGS)

model: ## run the simulation of limits with each rule switched off in turn: the first violation, and in which schedule
	@$(GO) test -tags $(TAGS) -vet off -count=1 ./internal/limits/distributed/simtest -run '^TestSimulationFindsPlantedFaults$$' -v | \
		sed -n 's/^ *norace_test.go:[0-9]*: //p'

mutants: ## change the code of a package in small ways, one at a time, and list what its own tests do not notice (PACKAGE=./internal/plans)
	@$(GO) run github.com/go-gremlins/gremlins/cmd/gremlins@v0.6.0 unleash --tags $(TAGS) --workers 1 --timeout-coefficient 20 $(or $(PACKAGE),$(error which package? make mutants PACKAGE=./internal/plans))

# What soak runs, all without a name, and how many requests Schemathesis makes.
PARTS    ?=
CASES    ?= 200000

soak: ## run the long tests part by part: generated requests, a million schedules of faults, fuzzers for SOAK=1m each, end-to-end (PARTS="simulation fuzz")
	@$(call PREPARE,test-all)
	@GO='$(GO)' TAGS='$(TAGS)' SOAK='$(SOAK)' CASES='$(CASES)' tools/soak.sh $(PARTS)

clean: ## remove bin and dist; the data of make run stays in .petstore
	rm -rf bin dist
