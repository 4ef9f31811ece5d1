# SPDX-License-Identifier: Apache-2.0
# Two commands to begin with: `make demo` and `make test`. This file is a thin lid: meson builds,
# the programs under scripts/ do the rest, and every target does its own set-up first.
BUILD        ?= build
PREFIX       ?= /usr/local
DESTDIR      ?=
FUZZ_SECONDS ?= 60
MESON_TEST    = meson test -C $(BUILD) --print-errorlogs

.PHONY: help build demo check test bench fuzz install deb portable clean setup
.DEFAULT_GOAL = build

help:            ## show this list
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  make %-9s %s\n", $$1, $$2 }' Makefile

setup:           ## install the Debian packages a build needs (nothing to do: no word, no time)
	@scripts/setup build

build: setup     ## compile everything into build/
	@test -f $(BUILD)/build.ninja || meson setup $(BUILD) --prefix=$(PREFIX)
	@ninja -C $(BUILD)

demo: build      ## run examples/hello on this machine and watch it
	@scripts/demo $(BUILD)

check: build     ## the quick tests: unit, house rules, contract on this machine
	@$(MESON_TEST) --suite unit --suite house --suite contract

test:            ## every test there is, with gcc, clang and sanitizers
	@scripts/setup test
	@scripts/test-all

bench: build     ## measure start-up, submit, ps and refresh beside their peers
	@scripts/setup bench
	@bench/run $(BUILD)

fuzz:            ## run each fuzz target for FUZZ_SECONDS (default 60)
	@scripts/setup test
	@scripts/fuzz $(FUZZ_SECONDS)

install: build   ## install under PREFIX (default /usr/local), below DESTDIR if given
	@meson configure $(BUILD) -Dprefix=$(PREFIX)
	@DESTDIR=$(DESTDIR) meson install -C $(BUILD)

deb: setup       ## build dist/slipway_VERSION_ARCH.deb
	@scripts/make-deb

portable: setup  ## build dist/portable/, programs that run when copied to another Linux machine
	@scripts/portable-build

clean:           ## remove everything that was built
	rm -rf build build-* dist .cache
