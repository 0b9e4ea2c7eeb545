# make demo   build, run the main job on the bundled capture, say where the report is
# make test   everything: format, lints, unit, property, corpus, CLI, bad input, report in a headless browser; installs what that needs
#             where it may (tests/setup), and shows what was skipped; with CI=true only what tests/may-skip lists may be
# make test-heavy  the Rust tests with more random cases, where a property sets no number of its own, SECONDS_EACH for each fuzz target,
#             the monitor with 20,000 ports, a year of samples and 100 kills, and Debian's Prometheus on a live run
# make chaos  a sweep of 204 cells that is killed 20 times, beside one that is not
# make bench  speed and memory of extraction, simulation and 200 agents, instructions (benches/instructions.sh), the long validation runs
# make validate  every check against published results; writes docs/evidence/validation.md and docs/evidence/references.md
# make parity  the simulator beside the kernel's TCP, cell by cell; writes docs/evidence/parity.md; as root on a quiet machine, at most 90 minutes
# make reproduce  the study of 2010 (examples/aikat-2010), some hours in runs/aikat-2010: goes on where it was stopped; writes its page
# make reproduce-live  its runs through the kernel's TCP beside the simulator's; as root on a quiet machine, half an hour
# make references  those of the reference workloads alone; writes docs/evidence/references.md
# make bench-peers  extraction beside tcptrace, nfpcapd, argus and tshark; the simulator beside ns-3 and ns-2
# make bench-live-peers  the emulator beside mahimahi, live schedules beside tcpreplay; as root, takes a quarter of an hour
# make bench-live  live runs beside what they were asked for and beside the simulator, and programs beside what extraction finds of them; needs root and a quiet
#             machine, some 40 minutes
# make faults  seeds ten faults into a copy of the sources, in target/faults, and says which tests find each; takes some 20 minutes
# make fuzz   every fuzz target for SECONDS_EACH (20) in libFuzzer; needs a nightly compiler and cargo-fuzz

CARGO ?= cargo
SECONDS_EACH ?= 20
# Every test program and the commands that they start. Examples are left to clippy, which checks them without linking; those with tests
# of their own say so in their manifest.
TESTS := --workspace --tests --locked
# PROFILE=dev looks at what the Rust tests are of, so that nothing is built twice. One package alone would have other features of its
# dependencies, and be built again.
PROFILE ?= release
ifeq ($(PROFILE),dev)
BUILT := target/debug
build = $(CARGO) test $(TESTS) --no-run
build_example = $(CARGO) build $(TESTS) --example $(2)
else
BUILT := target/release
build = $(CARGO) build --release --locked -p $(1)
build_example = $(CARGO) build --release --locked -p $(1) --example $(2)
endif
FLOWLOOM := $(BUILT)/flowloom

.PHONY: all demo test test-heavy chaos check lint live-test rest-test browser-test validate parity reproduce reproduce-live references bench bench-peers bench-live bench-live-peers deny faults fuzz clean

all: $(FLOWLOOM)

.PHONY: $(FLOWLOOM)
$(FLOWLOOM):
	$(call build,flowloom-cli)

# Optimising fully takes two fifths of the build, and one run does not miss it.
demo: export CARGO_PROFILE_RELEASE_OPT_LEVEL = 1
demo: export CARGO_PROFILE_RELEASE_LTO = off
demo: export CARGO_PROFILE_RELEASE_CODEGEN_UNITS = 16
demo: $(FLOWLOOM)
	$(FLOWLOOM) run testdata/demo.pcap.gz -o runs/demo --force
	@echo
	@echo "open runs/demo/report.html in a browser"

export FLOWLOOM_SKIPS := $(CURDIR)/target/skips.tsv

# What waits (for downloads, for real time) has beside it what computes: `tests/beside` gives it the time that is left.
test:
	@rm -f $(FLOWLOOM_SKIPS)
	$(CARGO) fmt --check
	@tests/beside target/setup.log tests/setup $(CARGO) test $(TESTS) --no-run
	@tests/beside target/beside.log '$(MAKE) browser-test lint rest-test' $(MAKE) live-test
	@tests/skips $(FLOWLOOM_SKIPS)

test-heavy:
	PROPTEST_CASES=2560 FLOWLOOM_FUZZ_SECONDS=$(SECONDS_EACH) FLOWLOOM_MONITOR_HEAVY=1 $(CARGO) test $(TESTS)

chaos:
	FLOWLOOM_KILLS=20 $(CARGO) test $(TESTS) -- a_killed_sweep_ends_with_the_same_bytes

check: lint
	$(CARGO) fmt --check

# In the folder of the tests, whose macros and build scripts it finds there; Cargo locks it while it builds, and not while tests run.
lint:
	$(CARGO) clippy --workspace --all-targets --locked -- -D warnings

# Every test program is in one of two parts.
part = --config 'target."cfg(all())".runner = ["$(CURDIR)/tests/part", "$(1)"]'

live-test:
	$(CARGO) test $(TESTS) $(call part,live)

rest-test:
	$(CARGO) test $(TESTS) $(call part,rest)
	$(CARGO) test --workspace --doc --locked

browser-test: $(FLOWLOOM)
	$(call build_example,flowloom-report,made_up_reports)
	@tests/report_browser.sh $(FLOWLOOM) $(BUILT)/examples/made_up_reports
	$(call build_example,flowloom-view,made_up_folders)
	@tests/view_browser.sh $(FLOWLOOM) $(BUILT)/examples/made_up_folders

validate:
	$(CARGO) run --release --locked -p flowloom-validate

parity:
	$(CARGO) build --release --locked -p flowloom-cli -p flowloom-validate
	target/release/parity

STUDIES := small queues paths datagrams campus enterprise waits hour windows rtts steady campus-scale enterprise-scale
RUNS ?= runs/aikat-2010
EXAMPLES := examples/aikat-2010
# Captures of which connections are counted that use window scaling, if any are there; two are of the same packets, one has damaged headers.
CAPTURES ?= $(filter-out %packetsns.pcap %fuzz-2594.pcap,$(wildcard ../shared/data/pcap/*.pcap* ../shared/data/pcap/*.dmp))

reproduce:
	$(CARGO) build --release --locked -p flowloom-cli -p flowloom-validate
	@mkdir -p $(RUNS)
	for study in $(STUDIES); do \
	  target/release/flowloom sweep $(EXAMPLES)/$$study.toml -o $(RUNS)/$$study --seeds 3 --yes && \
	  target/release/reproduce $(RUNS)/$$study || exit 1; \
	done
	for files in parts twin; do \
	  target/release/reproduce --$$files $(EXAMPLES)/dependence.toml $(RUNS)/$$files && \
	  target/release/flowloom sweep $(RUNS)/$$files/sweep.toml -o $(RUNS)/$$files/sweep --yes && \
	  target/release/reproduce $(RUNS)/$$files/sweep || exit 1; \
	done
	$(if $(CAPTURES),target/release/reproduce --scaling $(CAPTURES) && target/release/reproduce)

# As root, on a quiet machine: half an hour.
reproduce-live:
	$(CARGO) build --release --locked -p flowloom-cli -p flowloom-validate
	@mkdir -p $(RUNS)
	target/release/flowloom sweep $(EXAMPLES)/live.toml -o $(RUNS)/live-simulated --yes
	target/release/flowloom sweep $(EXAMPLES)/live.toml -o $(RUNS)/live --on live --yes
	target/release/reproduce $(RUNS)/live-simulated $(RUNS)/live

references:
	$(CARGO) run --release --locked -p flowloom-validate -- references

bench:
	$(CARGO) build --release --locked --workspace --bins --examples
	@benches/run.sh

bench-peers:
	$(CARGO) build --release --locked -p flowloom-cli
	$(CARGO) build --release --locked -p flowloom-store --example busy_link
	@benches/peers.sh

bench-live-peers:
	$(CARGO) build --release --locked -p flowloom-cli
	$(CARGO) build --release --locked -p flowloom-live --example peer_load
	@benches/live_peers.sh

bench-live:
	$(CARGO) build --release --locked -p flowloom-cli
	$(CARGO) build --release --locked -p flowloom-store --example mixed_minutes
	$(CARGO) build --release --locked -p flowloom-report --example live_fidelity
	@benches/live.sh
	@python3 benches/programs.py target/release/flowloom

deny:
	@command -v cargo-deny >/dev/null || { echo "cargo-deny is missing: cargo install --locked cargo-deny"; exit 1; }
	$(CARGO) deny check licenses bans sources

faults:
	tests/seeded_faults target/faults

fuzz:
	@command -v cargo-fuzz >/dev/null || { echo "cargo-fuzz is missing: cargo install --locked cargo-fuzz (needs a nightly toolchain)"; exit 1; }
	fuzz/run $(SECONDS_EACH)

clean:
	$(CARGO) clean
	rm -rf runs
