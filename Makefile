# Every target is explained by the comment behind it: type `make help`.

SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help

# The binary has no C. Only the race detector needs it, and compiles a C library of Pebble's
# as well: see scripts/gotest.
export CGO_ENABLED := 0

COMMIT  := $(shell git rev-parse HEAD 2>/dev/null || echo unknown)
LDFLAGS := -X main.commit=$(COMMIT)

# What also runs under the race detector: every package that starts goroutines. Its tests of
# allocations, which the race detector would disturb, are named TestAllocs.
RACE := ./client/... ./cmd/... ./internal/backup ./internal/bot ./internal/cluster ./internal/handoff ./internal/admin ./internal/loader ./internal/loop ./internal/journal ./internal/mesh ./internal/observe \
	./internal/readapi ./internal/registry ./internal/server ./internal/store/... ./internal/tape ./internal/transport ./runner/...

# Modules of their own, whose dependencies must stay out of the binary. Those of packaging
# have many, and only proofs.
NESTED := $(patsubst %/go.mod,%,$(wildcard bench/*/go.mod runner/examples/*/go.mod))
PACKAGING := $(patsubst %/go.mod,%,$(wildcard packaging/*/go.mod))

.PHONY: help run build release package reproduce test race check generate bench proof soak fuzz vuln cover web clean setup-run setup-test test-vet test-server test-web test-go test-nested

help: ## print this list
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  make %-9s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

run: setup-run web build ## build everything, start the server, print what to open
	@bin/wamble serve --config examples/server.conf

build: ## build the binary bin/wamble
	@CGO_ENABLED=0 go build -trimpath -ldflags '$(LDFLAGS)' -o bin/wamble ./cmd/wamble

release: web ## static binaries for linux on amd64 and arm64, into dist/
	packaging/release dist

package: release ## Debian packages, images for containers, SBOMs and checksums, into dist/
	@cd packaging/build && SOURCE_DATE_EPOCH=$$(git log -1 --format=%ct) go run . $(CURDIR)/dist && cat $(CURDIR)/dist/SHA256SUMS

reproduce: ## build the release twice and compare the bytes
	packaging/reproduce

# To compile everything for the race detector, too, takes as long as all the tests: make proof
# does. What is compiled for vet is not compiled again, so that it comes first and alone.
# The tests of the server wait more than they compute, and run beside the others.
test: setup-test web test-vet ## all tests but the proofs (about 10 minutes on 2 cores)
	@$(MAKE) --no-print-directory --jobs=3 test-server test-go test-web

race: setup-test ## the tests of what starts goroutines, under the race detector (10 minutes more)
	scripts/gotest -race -parallel=6 -skip '^TestAllocs' $(RACE)

test-web:
	cd web && npm run --silent test
	scripts/gotest -parallel=4 ./web

test-server:
	scripts/gotest -parallel=8 ./internal/server

test-go:
	scripts/gotest $$(go list ./... | grep -vxE 'wamble/(web|internal/server)')
	@$(MAKE) --no-print-directory test-nested

test-nested:
	@for m in $(NESTED); do (cd $$m && echo "go test in $$m" && $(CURDIR)/scripts/gotest ./...); done

check: test-vet ## gofmt, go vet, staticcheck
	go tool staticcheck -tags=proof ./...
	@for m in $(PACKAGING); do (cd $$m && go vet -tags=proof ./...); done

test-vet:
	@unformatted=$$(gofmt -l $$(git ls-files '*.go')); \
	if [ -n "$$unformatted" ]; then echo "gofmt would change:"; echo "$$unformatted"; exit 1; fi
	go vet -tags=proof ./...
	@for m in $(NESTED); do (cd $$m && go vet -tags=proof ./...); done

generate: ## write anew the parts of the documents that come from code
	go generate ./...
	go test ./internal/config -run=TestManual -update

bench: web build ## the benchmarks, each beside its yardstick in the same run
	go test -run='^$$' -bench=. -benchmem -p=1 -timeout=2h ./...
	TMPDIR=$(CURDIR)/bin bin/wamble bench --verify --also 1,16,1000
	@for m in $(NESTED); do (cd $$m && echo "benchmarks of $$m" && go test -run='^$$' -bench=. ./...); done

proof: setup-test web ## what needs minutes, root or a machine for itself, and make race (up to an hour); ONLY=./runner RUN=Kill chooses
	scripts/proof $(ONLY) $(if $(RUN),-run '$(RUN)')

soak: setup-test web ## the proofs at full length (hours); ONLY=./runner RUN=Kill chooses, WAMBLE_SEED=n repeats
	WAMBLE_SOAK=1 scripts/proof $(ONLY) $(if $(RUN),-run '$(RUN)')

fuzz: ## every fuzz target for 5 minutes; TIME=1h and ONLY=pattern choose others
	scripts/fuzz $(or $(TIME),5m) $(ONLY)

# Not part of test: it needs the network, and finds what others publish, when they do.
GOVULNCHECK := golang.org/x/vuln/cmd/govulncheck@v1.1.4

vuln: ## known vulnerabilities in what the binary calls (needs the network)
	go run $(GOVULNCHECK) ./...

cover: ## test coverage by package, and cover.html
	go test -coverprofile=cover.out ./...
	go tool cover -html=cover.out -o cover.html
	@go tool cover -func=cover.out | tail -1

web: web/node_modules/.installed ## build the browser client, to be embedded by the next build
	@cd web && npm run --silent build

# Exactly what the lock file names, and again only when that has changed. A
# second time, too, when the network had a bad moment.
web/node_modules/.installed: web/package-lock.json web/.npmrc
	@cd web && { npm ci --no-audit --no-fund || npm ci --no-audit --no-fund; }
	@touch $@

clean: ## remove what was built
	rm -rf bin dist cover.out cover.html web/dist/* web/dist-test web/node_modules screenshots

setup-run:
	@scripts/setup run

setup-test:
	@scripts/setup test
