# sluice: make demo shows it, make test proves it.
SHELL   := /bin/sh
GO      ?= go
VERSION := $(shell git describe --always --dirty 2>/dev/null || echo unknown)
LDFLAGS := -X main.version=$(VERSION)

.PHONY: guides all build packages demo test test-end-to-end test-waiting test-packages test-elsewhere lint bench bench-job bench-live bench-policy bench-systems bench-shares conform damage deb dist gpu exact liars planted mutants properties seeds crashes soak fuzz hostile confined failover reclaims shared sweeps gone nfs reliability-report clean bench-sweeps

all: build

# bin/sluice, static because it starts thousands of times; what it runs for some verbs:
# bin/sluice-top, bin/sluice-web, bin/sluice-simulate, bin/sluice-lab and bin/sluice-plot, apart because what they link
# would cost every start; bin/sluiced, which needs cgo for SQLite, bin/sluice-vaultd, which needs it to find users
# and groups in the site's directory, and bin/sluice-nvml, which needs it to load NVIDIA's library. Programs without debug tables (-s -w) are a
# quarter smaller, and a Go stack trace reads the same.
build:
	CGO_ENABLED=0 $(GO) build -trimpath -ldflags '-s -w $(LDFLAGS)' -o bin/ ./cmd/sluice ./cmd/sluice-top ./cmd/sluice-web ./cmd/sluice-plot ./cmd/sluice-simulate ./cmd/sluice-lab
	$(GO) build -trimpath -ldflags '$(LDFLAGS)' -o bin/ ./cmd/sluiced ./cmd/sluice-vaultd ./cmd/sluice-nvml

# What the demo and the tests need from Debian: Slurm, munge, PyTorch, a compiler.
packages:
	@etc/install-packages

# The main job on a real Slurm on loopback: under five minutes once installed.
demo: packages build
	bin/sluice lab demo

# Everything, race detector on. What cannot run here is skipped, loudly. Property tests
# draw the same every time, so that a change is judged by itself; make properties draws anew.
DRAWS ?= 20261123
test:
	@etc/install-packages || [ $$? -eq 75 ] # BEFORE the build, which needs gcc. 75: no archive in reach; it said what is skipped
	@$(MAKE) --no-print-directory build
	@etc/install-frameworks; case $$? in 0|69|75) ;; *) exit 1 ;; esac # likewise
	@etc/install-optuna; case $$? in 0|69|75) ;; *) exit 1 ;; esac # likewise
	$(GO) vet ./...
	$(GO) build -race ./... # once, for all of the below
	@rm -f $(FLAKY)
	@$(MAKE) --no-print-directory -j3 test-end-to-end test-waiting test-packages
	@cat $(FLAKY) 2>/dev/null || :

# Three at a time, since two wait for most of theirs: the end-to-end tests, by far the longest,
# for Slurm; and WAITING, the packages that raise a Slurm, runners, Python, a browser or sockets. Of those and of
# all others one package runs at a time, so that Slurm has a core. Packages in UNRACED run long
# simulations in one goroutine: with the race detector they try a part of their cases (race_on_test.go
# in each says which), without it all, with -trimpath to find what make build compiled. GOGC=400
# saves simulations an eighth of their CPU time under the race detector, a quarter without, for some
# 50 MB a process; what waits is left as it is in production. etc/test runs a failed test once more, alone.
FLAKY := $(CURDIR)/bin/flaky
WAITING := /slurm/conform$$|/slurm/lab$$|/checkpoint/runner$$|/checkpoint/python$$|/elastic/control$$|/cmd/sluice-web$$
UNRACED := ./elastic/world ./elastic/world/story ./elastic/policy
test-end-to-end:
	FLAKY=$(FLAKY) RAPID_SEED=$(DRAWS) GO='$(GO)' etc/test -race -timeout 50m -parallel 4 -- ./cmd/sluiced
test-waiting:
	FLAKY=$(FLAKY) RAPID_SEED=$(DRAWS) GO='$(GO)' etc/test -race -timeout 50m -p 1 -parallel 4 -- $$($(GO) list ./... | grep -E '$(WAITING)')
test-packages:
	GOGC=400 FLAKY=$(FLAKY) RAPID_SEED=$(DRAWS) GO='$(GO)' nice -n 5 etc/test -race -timeout 50m -p 1 -parallel 4 -- $$($(GO) list ./... | grep -vE '/cmd/sluiced$$|$(WAITING)')
	GOGC=400 FLAKY=$(FLAKY) RAPID_SEED=$(DRAWS) GO='$(GO)' nice -n 5 etc/test -trimpath -timeout 50m -p 1 -parallel 4 -- $(UNRACED)

# The tests again, as on another machine: 500 accounts, another locale and time zone,
# umask 077, a home that cannot be written. PACKAGES="./slurm/lab ./cmd/sluiced" is some.
PACKAGES ?=
test-elsewhere: build
	@RAPID_SEED=$(DRAWS) etc/campaign elsewhere etc/elsewhere $(PACKAGES)

# dist/*.deb and dist/*.rpm: the programs with units, configuration, manual pages and
# completion, and the training library; each with the licences of what is linked into it,
# and a list of that (SPDX). nfpm makes them, from etc/packages/packages.yaml.
dist: build
	@GO='$(GO)' etc/make-packages
deb: build
	@GO='$(GO)' FORMATS=deb etc/make-packages

# Fails on what gofmt, go vet and staticcheck find. A tool that cannot be had here, as where
# the module proxy is out of reach, is skipped, loudly. ST1005 is off: some error texts are
# as Slurm writes them. What govulncheck finds is shown and does not fail: it depends on the
# day.
LINT := $(CURDIR)/bin/lint
lint:
	@test -z "$$(gofmt -l .)" || { gofmt -l .; echo 'run gofmt -w on these'; exit 1; }
	$(GO) vet ./...
	@GOBIN=$(LINT) $(GO) install honnef.co/go/tools/cmd/staticcheck@v0.8.2 || test -x $(LINT)/staticcheck || \
	  { echo 'lint: NOT CHECKED by staticcheck: it cannot be had here, see above' >&2; exit 0; }; \
	  echo 'staticcheck ./...'; $(LINT)/staticcheck -checks inherit,-ST1005 ./...
	@GOBIN=$(LINT) $(GO) install golang.org/x/vuln/cmd/govulncheck@v1.9.0 && $(LINT)/govulncheck ./... || \
	  case $$? in 3) echo 'lint: govulncheck found what stands above; lint does not fail for it' >&2 ;; \
	  *) echo 'lint: NOT CHECKED by govulncheck: it, or its database, cannot be had here, see above' >&2 ;; esac

# One line a figure on standard output, nothing else; progress goes to stderr. Resizes on
# every Slurm release at hand (etc/slurm-trees makes the trees of others), the rest on
# this machine's.
bench: packages build
	@bin/sluice lab bench
	@for root in $$(etc/slurm-trees --roots | tr : ' '); do bin/sluice lab bench --only resizes --root $$root || exit 1; done

# Twenty short jobs on a real Slurm under several policies, beside what the
# simulator says of them; GPU work is emulated. Some five minutes a policy.
bench-live: packages build
	@bin/sluice lab live

# What the training library costs a job: a step's overhead, the time a save blocks,
# sums beside cp and sha256sum. Some four minutes and 8 GB of disk for a while.
bench-job: packages
	@/usr/bin/python3 checkpoint/python/bench/overhead.py
	@/usr/bin/python3 checkpoint/python/bench/save.py

# A training on a real Slurm resized and killed (workers, runner, node) again and
# again, held step by step against one never disturbed: an hour for 200 kills.
KILLS ?= 200
SEED ?= 1
exact: packages build
	@etc/campaign exact bin/sluice lab exact --kills $(KILLS) --seed $(SEED)

# What is claimed about the policies, simulated, beside what was published: one line
# a figure, half an hour on two cores. Published data, which is not part of the
# project, is looked for in DATA. OPTIONS="--quick --figure 1,5" is less.
DATA ?= $(or $(SLUICE_DATA),$(wildcard ../shared/data))
OPTIONS ?=
bench-policy: build
	@bin/sluice bench-policy --data '$(DATA)' $(OPTIONS)

# The same for what other published systems do: deadlines, on testbench B; speeds nobody
# measured, on the profiles of testbench A; simulated annealing, on its workloads; welfare,
# on them and on two types of GPU.
bench-systems: build
	@bin/sluice bench-policy --data '$(DATA)' --figure 8,9,10,11 $(OPTIONS)

# The same for shares of accounts.
bench-shares: build
	@bin/sluice bench-policy --data '$(DATA)' --figure 12 $(OPTIONS)

# The same for hyper-parameter sweeps of several users, on testbench D (a few minutes), and for the
# methods of search (figure 15: some 15 minutes on two cores; --seeds 1 is a tenth of it).
bench-sweeps: build
	@bin/sluice bench-policy --data '$(DATA)' --figure 14,15 $(OPTIONS)

# The campaigns below keep what they print in .campaigns, where reliability-report
# finds it.

# The same promises on the fake and on real Slurm 20.11, 22.05, 24.11 and 26.05: this
# machine's, and trees that debootstrap makes of Debian's other suites, built once.
conform: packages build
	@etc/slurm-trees; case $$? in 0|69|75) ;; *) exit 1 ;; esac # said what cannot be had
	$(GO) test -race -c -o bin/conform.test ./slurm/conform
	@SLUICE_LAB_ROOTS="$$(etc/slurm-trees --roots)" etc/campaign conform bin/conform.test -test.timeout 90m -test.run 'TestFake$$|TestRealSlurm'

# On a machine with an NVIDIA GPU: what NVIDIA's library says of it, DDP and FSDP trainings
# stopped and resized on it, by themselves and under sluiced on a real Slurm. One GPU is
# enough: several ranks share it and add up through gloo, as NCCL refuses that; one rank alone
# uses NCCL. Some five minutes. Everywhere else these tests are skipped.
gpu: packages build
	@etc/install-frameworks; case $$? in 0|69|75) ;; *) exit 1 ;; esac # said what cannot be had
	@etc/campaign gpu $(GO) test -count=1 -v -timeout 30m -run 'TestRealGPU$$|TestFrameworks/gpu$$' ./nodes/nvml ./checkpoint/python ./cmd/sluiced

# Random scenarios in the simulated world, SEEDS of them; a failure prints a line that
# tells it again, shortened. Stores lie in memory where there is such a folder: what the
# disks of scenarios lose is simulated.
SEEDS ?= 10000
FROM ?= 0
seeds:
	$(GO) test -c -o bin/story.test ./elastic/world/story
	@cd elastic/world/story && TMPDIR=$$(test -w /dev/shm && echo /dev/shm || echo $${TMPDIR:-/tmp}) CAMPAIGNS=$(CURDIR)/.campaigns $(CURDIR)/etc/campaign seeds $(CURDIR)/bin/story.test -test.run 'TestSeeds$$' -test.timeout 0 -test.v -seeds=$(SEEDS) -from=$(FROM)

# Every crash, every second crash within PAIRS effects of one, and every user's action at every effect: about an hour.
PAIRS ?= 64
crashes:
	@SLUICE_EXHAUSTIVE=1 SLUICE_PAIRS=$(PAIRS) etc/campaign crashes $(GO) test -count=1 -timeout 0 -v ./elastic/world ./elastic/world/story

# Hours of random submits, cancels, resizes, lost nodes, restarted controllers and
# killed daemons on a real Slurm, audited; memory, files and database must stay flat.
HOURS ?= 8
soak: packages build
	@etc/campaign soak bin/sluice lab soak --hours $(HOURS) --seed $(SEED)

# sluiced's store against damage: flipped bytes, every write that fails, every moment
# at which the power may go, kills, daemons that race. Some of each is in every
# "make test"; this is the whole, MUTATIONS of what cannot be tried one by one.
MUTATIONS ?= 10000
damage:
	@SLUICE_STORE_MUTATIONS=$(MUTATIONS) etc/campaign damage $(GO) test -count=1 -timeout 0 -v ./elastic/store

# Two hostile accounts against a third one's training and the daemon, FOR so long;
# hostile words through every command line, hostile names through every folder.
FOR ?= 1h
hostile: packages
	@SLUICE_HOSTILE_FOR=$(FOR) etc/campaign hostile $(GO) test -count=1 -v -timeout 0 -run 'TestHostileUsers|TestHostileRemote' ./cmd/sluiced
	@SLUICE_STRINGS=34000000 etc/campaign strings $(GO) test -count=1 -v -timeout 0 -run TestHostileStrings ./slurm/command
	@SLUICE_NAMES=100000000 SLUICE_NAMES_OPENED=1000000 etc/campaign names $(GO) test -count=1 -v -timeout 0 -run 'TestNamesThatCount|TestHostileNames' ./checkpoint

# A confined job's program, its user and another account of the node against its fence, its budget and, on a real
# Slurm, all that can be read of it: one line a way out with its outcome, what a fence costs in start-up and steps, and
# a last line with the counts; it fails if a way is open that SECURITY.md calls closed. Some ten minutes; what cannot be
# tried on this machine is said.
confined: packages
	@etc/install-frameworks; case $$? in 0|69|75) ;; *) exit 1 ;; esac # said what cannot be had
	@GO='$(GO)' etc/campaign confined etc/confined

# The primary slurmctld killed in the middle of moves, FAILOVERS times, while a backup takes
# over; munged away for a minute, slurmdbd for as long as 20 jobs take.
FAILOVERS ?= 20
failover: packages
	@SLUICE_FAILOVERS=$(FAILOVERS) SLUICE_MUNGE_AWAY=1m SLUICE_DBD_JOBS=20 etc/campaign failover $(GO) test -count=1 -v -timeout 0 -run 'TestBackupTakesOver|TestMungeAway|TestSlurmdbdAway' ./cmd/sluiced

# How soon an account has back what it lent, RECLAIMS times; and 31 jobs in every state while sluiced is
# gone for good, on every Slurm release at hand. Some fifteen minutes each.
RECLAIMS ?= 50
reclaims: packages
	@SLUICE_RECLAIMS=$(RECLAIMS) etc/campaign reclaims $(GO) test -count=1 -v -timeout 0 -run 'TestReclaims$$' ./cmd/sluiced
gone: packages
	@etc/slurm-trees; case $$? in 0|69|75) ;; *) exit 1 ;; esac # said what cannot be had
	@SLUICE_GONE=4 SLUICE_LAB_ROOTS="$$(etc/slurm-trees --roots)" etc/campaign gone $(GO) test -count=1 -v -timeout 0 -parallel 2 -run 'TestGoneForGood' ./cmd/sluiced

# Three accounts with 60, 30 and 10 shares that all want more GPUs than there are, on a real Slurm for
# SHARED: the GPU-seconds of each by sacct beside its share, and those that were idle. SEED draws the jobs.
SHARED ?= 1h
shared: packages
	@SLUICE_SHARED=$(SHARED) SLUICE_SHARED_SEED=$(SEED) etc/campaign shared $(GO) test -count=1 -v -timeout 0 -run 'TestSharedHour$$' ./cmd/sluiced

# Three users' sweeps of a small PyTorch program beside two elastic trainings, on a real Slurm, and the
# same points as job arrays of plain Slurm: the time of each to its goal. Some twelve minutes.
sweeps: packages
	@SLUICE_SWEEPS=1 etc/campaign sweeps $(GO) test -count=1 -v -timeout 0 -run 'TestSweepsForReal$$' ./cmd/sluiced

# Job folders on NFS, as the kernel's client shows them to machines with caches of their own,
# the server killed, frozen, full: what sluice's two sides see of each other, and end-to-end
# tests, TESTS of them. Some half an hour; 75 where there can be no NFS, which is said.
TESTS ?= TestNFS|TestKilledAtEveryStep|TestCrashes$$|TestSlurmdKilledDuringResize|TestControllerKilledDuringResize
nfs: packages
	$(GO) build -tags crash -o bin/nfs/ ./cmd/sluice ./cmd/sluice-lab ./cmd/sluice-web ./cmd/sluiced
	$(GO) test -c -o bin/nfs/runner.test ./checkpoint/runner
	$(GO) test -tags crash -c -o bin/nfs/sluiced.test ./cmd/sluiced
	@SLUICE_BUILT=$(CURDIR)/bin/nfs etc/campaign nfs etc/nfs-world etc/nfs-tests '$(TESTS)'

# Adversaries that report false speeds, false progress and noise, LIARS seeds of each:
# what it brings them, and what it costs in resizes.
LIARS ?= 20
liars:
	@SLUICE_LIARS=$(LIARS) etc/campaign liars $(GO) test -count=1 -v -timeout 0 -run 'TestLiarsGainNothing|TestFalseSpeedsMoveNoJob|TestEqualUsers' ./elastic/world

# Deliberate faults, each laid over the source when a test is built, and the tests that
# must notice it: one line a fault. ONLY=store/ tries some.
ONLY ?= .
planted:
	@SLUICE_PLANTED='$(ONLY)' etc/campaign planted $(GO) test -count=1 -timeout 90m -v -run TestEveryPlantIsCaught ./elastic/planted

# Faults made by rule (conditions negated, comparisons changed, statements and errors
# dropped, constants off by one, early returns) in the rooms that safety hangs on, and the
# fast tests that can see them: SAMPLE of each room drawn by SEED, 0 all; a table at the end.
# ROOM="table|claim" is some; FILTER='squeue.go: ofJob' those whose name it matches, as after
# a test was written for survivors; GOMAXPROCS says how many at once.
ROOM ?= .*
FILTER ?=
SAMPLE ?= 0
mutants:
	@SLUICE_MUTANTS='$(ROOM)' SLUICE_MUTANTS_FILTER='$(FILTER)' SLUICE_MUTANTS_SEED=$(SEED) SLUICE_MUTANTS_SAMPLE=$(SAMPLE) etc/campaign mutants $(GO) test -count=1 -timeout 0 -v -run 'TestMutants$$' ./elastic/planted

# The property tests with CHECKS draws each that nobody has seen; a failure prints the line
# that draws it again.
CHECKS ?= 2500
properties:
	@RAPID_CHECKS=$(CHECKS) etc/campaign properties $(GO) test -count=1 -timeout 0 $$(grep -rl pgregory.net/rapid --include='*_test.go' . | xargs -n1 dirname | sort -u | grep -v /cmd/)

# Every parser, FUZZ executions each, or 60s. What a parser has come to in all runs since its
# package changed last is in the report.
FUZZ ?= 200000x
fuzz:
	@GO='$(GO)' etc/campaign fuzz etc/fuzz '$(FUZZ)'

# What all of that came to: a few minutes' figures computed now, and those that the
# campaigns left. What was not run here is said to be so.
reliability-report: build
	@etc/campaign boundaries $(GO) test -count=1 -v -run 'TestCrashAtEveryBoundary$$' ./elastic/world >/dev/null
	@etc/campaign matrix $(GO) test -count=1 -v -run 'TestMatrix$$' ./elastic/control >/dev/null
	@etc/campaign manifests $(GO) test -count=1 -v -run 'TestMutations$$' ./checkpoint >/dev/null
	@etc/campaign units $(GO) test -count=1 -v -run 'TestUnitsExposure$$' ./etc >/dev/null
	@bin/sluice lab figures

clean:
	rm -rf bin

# Every command of the tutorial and the how-to guides, typed on a lab, with what it prints. make test does
# that too.
guides: packages
	@$(GO) test -count=1 -v -timeout 20m ./cmd/sluiced -run 'TestTutorial$$|TestGuides$$'
