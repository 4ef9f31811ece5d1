# SPDX-License-Identifier: Apache-2.0
# Two commands to begin with: `make demo` and `make test`. This file is a thin lid: meson builds,
# the programs under scripts/ do the rest, and every target does its own set-up first.
BUILD        ?= build
PREFIX       ?= /usr/local
DESTDIR      ?=
FUZZ_SECONDS ?= 60
SOAK_ROUNDS  ?= 10
MESON_TEST    = meson test -C $(BUILD) --print-errorlogs --no-rebuild
# Two copies of make in one checkout take turns at the compiler.
LOCKED        = mkdir -p .cache && flock .cache/build.lock

.PHONY: help configure build demo check test bench bench-storage bench-slurm fuzz soak static dist install deb
.PHONY: clean setup
.DEFAULT_GOAL = build

help:            ## show this list
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  make %-9s %s\n", $$1, $$2 }' Makefile

setup:           ## install the Debian packages a build needs (nothing to do: no word, no time)
	@scripts/setup build

configure: setup
	@$(LOCKED) sh -c 'test -f $(BUILD)/build.ninja || meson setup $(BUILD) --prefix=$(PREFIX)'

build: configure ## compile everything into build/
	@$(LOCKED) ninja -C $(BUILD)

demo: configure  ## run examples/hello on this machine and watch it
	@$(LOCKED) ninja -C $(BUILD) program
	@scripts/demo $(BUILD)

check: build     ## the quick tests: unit, house rules, contract on this machine
	@$(MESON_TEST) --num-processes $$(($$(nproc) * 2)) --suite unit --suite house --suite contract

test:            ## every test there is, with gcc, clang and sanitizers
	@scripts/setup test
	@scripts/setup static
	@scripts/test-all

bench: build     ## measure start-up, submit, ps, refresh and many jobs at once beside their peers
	@scripts/setup bench
	@bench/run $(BUILD)
	@bench/many $(BUILD)
	@bench/watcher $(BUILD)
	@scripts/setup test
	@bench/kubernetes $(BUILD)
	@bench/ray $(BUILD)

bench-storage: build ## measure object transfer beside curl, s5cmd, rclone and awscli
	@scripts/setup bench
	@bench/storage $(BUILD)

bench-slurm: build ## measure submit and refresh on a real Slurm beside nvidia-tao-sdk and submitit
	@scripts/setup test
	@bench/slurm $(BUILD)

fuzz:            ## run each fuzz target for FUZZ_SECONDS (default 60)
	@scripts/setup test
	@scripts/fuzz $(FUZZ_SECONDS)

soak: build      ## many jobs under random faults, SOAK_ROUNDS (default 10) seeds of each kind
	@scripts/setup test
	@static/compile runner
	@scripts/soak $(BUILD) $(SOAK_ROUNDS)

static:          ## the released form: one static file for x86_64 and for aarch64, in build-static/
	@scripts/setup static
	@static/compile

dist:            ## dist/slipway-VERSION-linux-ARCH.tar.gz of both, with checksums
	@scripts/setup static
	@static/compile refresh
	@static/pack

install: build   ## install under PREFIX (default /usr/local), below DESTDIR if given
	@meson configure $(BUILD) -Dprefix=$(PREFIX)
	@$(LOCKED) env DESTDIR=$(DESTDIR) meson install -C $(BUILD)
	@static/ship $(DESTDIR)$(PREFIX)

deb: setup       ## build dist/slipway_VERSION_ARCH.deb
	@scripts/make-deb

clean:           ## remove everything that was built
	rm -rf build build-* dist .cache
