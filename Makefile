# Every target is explained by the comment behind it: type `make help`.

SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help

COMMIT  := $(shell git rev-parse HEAD 2>/dev/null || echo unknown)
LDFLAGS := -X main.commit=$(COMMIT)

# What runs under the race detector: every package that starts goroutines.
RACE := ./client/... ./cmd/... ./internal/backup ./internal/bot ./internal/handoff ./internal/host ./internal/loader ./internal/loop ./internal/journal ./internal/mesh ./internal/observe \
	./internal/readapi ./internal/registry ./internal/store/... ./internal/tape ./internal/transport ./runner/...

# What runs without the race detector, because it is not about goroutines and
# would last for a quarter of an hour: tests that kill processes or crash file
# systems again and again, and those of the server that load its own processes.
# Kills and abuse run once under it, in a short form, wherever they are. All other
# tests of the server run only under it.
KILLS := Kill|^TestCrash
LOADS := Handoff|Soak|ReloadUnderLoad|Abuse|LongOutage|Kill|PlacedFleet

# Of these, what runs under the race detector all the same, in small: all handoffs
# but the one of 100,000 boards.
HANDOFFS := Handoff
LARGE    := Large

# Modules of their own, whose dependencies must stay out of the binary.
NESTED := $(patsubst %/go.mod,%,$(wildcard bench/*/go.mod runner/examples/*/go.mod packaging/*/go.mod))

.PHONY: help run build release package reproduce test check generate bench soak fuzz vuln cover web clean setup-run setup-test test-server test-plain test-raced test-loads test-nested test-fuzz

help: ## print this list
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  make %-9s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

run: setup-run web build ## build everything, start the server, print what to open
	@bin/wamble serve

build: ## build the binary bin/wamble
	@CGO_ENABLED=0 go build -trimpath -ldflags '$(LDFLAGS)' -o bin/wamble ./cmd/wamble

release: web ## static binaries for linux on amd64 and arm64, into dist/
	packaging/release dist

package: release ## Debian packages, images for containers, SBOMs and checksums, into dist/
	@cd packaging/build && SOURCE_DATE_EPOCH=$$(git log -1 --format=%ct) go run . $(CURDIR)/dist && cat $(CURDIR)/dist/SHA256SUMS

reproduce: ## build the release twice and compare the bytes
	packaging/reproduce

test: setup-test web check ## everything that CI runs (about 20 minutes on 2 cores)
	@$(MAKE) --no-print-directory --jobs=2 test-server test-plain test-raced test-loads test-nested test-fuzz

# Tests wait more than they compute: two of these at once fill the machine. What lasts
# longest comes first, here and in each of them, so that at the end nothing runs alone for
# long.
test-server:
	scripts/gotest -race -skip '$(LOADS)' ./internal/server
	scripts/gotest -race -run '$(HANDOFFS)' -skip '$(LARGE)' ./internal/server

test-plain:
	cd web && npm run --silent test
	scripts/gotest ./web $$(go list ./... | grep -v '/internal/server$$')

test-raced:
	scripts/gotest -race -short -run 'Kill|Abuse' -skip '$(HANDOFFS)' ./internal/journal ./internal/server ./internal/store/... ./runner/pebblestore
	scripts/gotest -race -skip '$(KILLS)' ./runner/pebblestore $(RACE)

test-loads:
	scripts/gotest -run '$(LOADS)' ./internal/server

test-nested:
	@for m in $(NESTED); do (cd $$m && echo "go test in $$m" && go vet ./... && $(CURDIR)/scripts/gotest ./...); done

test-fuzz:
	scripts/fuzz 2s

check: ## gofmt, go vet, staticcheck
	@unformatted=$$(gofmt -l $$(git ls-files '*.go')); \
	if [ -n "$$unformatted" ]; then echo "gofmt would change:"; echo "$$unformatted"; exit 1; fi
	go vet ./...
	go tool staticcheck ./...

generate: ## write anew the parts of the documents that come from code
	go generate ./...
	go test ./internal/config -run=TestManual -update

bench: web build ## the benchmarks, each beside its yardstick in the same run
	go test -run='^$$' -bench=. -benchmem -p=1 -timeout=2h ./...
	TMPDIR=$(CURDIR)/bin bin/wamble bench --verify --also 1,16,1000
	@for m in $(NESTED); do (cd $$m && echo "benchmarks of $$m" && go test -run='^$$' -bench=. ./...); done

soak: ## the long proofs at full length (hours); ONLY=./runner/... RUN=Kill chooses, WAMBLE_SEED=n repeats
	WAMBLE_SOAK=1 scripts/gotest -count=1 -timeout=6h $(if $(RUN),-run '$(RUN)') $(or $(ONLY),./...)

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
