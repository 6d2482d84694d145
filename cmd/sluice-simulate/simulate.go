package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/sluice-hpc/sluice/cmd/terminal"
	"github.com/sluice-hpc/sluice/elastic/policy"
	"github.com/sluice-hpc/sluice/elastic/share"
	"github.com/sluice-hpc/sluice/elastic/sim/replay"
	"github.com/sluice-hpc/sluice/elastic/sim/report"
	"github.com/sluice-hpc/sluice/elastic/sim/workload"
)

// simulateOptions are the command line of "sluice simulate".
type simulateOptions struct {
	cluster   string
	workloads []string
	format    string
	profiles  string
	policies  []string
	interval  time.Duration
	restart   string
	info      string
	placing   string
	seed      uint64
	seeds     int
	loads     []float64
	cooldown  time.Duration
	payback   float64
	preempt   bool
	overload  float64
	wait      time.Duration
	share     bool
	anySplit  bool
	bound     bool
	output    string
	file      string
	events    string
	jobs      string
	parallel  int
	engine    bool
	cost      string
	shares    string
	halfLife  time.Duration
}

func newSimulateCommand() *cobra.Command {
	var o simulateOptions
	c := &cobra.Command{
		Use:   "simulate --cluster NODESxGPUS --workload FILE|gen:NAME [OPTION]...",
		Short: "Try policies on recorded or generated jobs, in virtual time",
		Long:  simulateHelp(),
		Example: `  sluice simulate --cluster 3x4 --workload gen:w1,gen:w4@10m \
      --policy fcfs,ef,knapsack --restart 10s --seeds 30
  sluice simulate --cluster 16x4 --workload workload-1.csv --format pollux \
      --profiles profiles --policy knapsack,fcfs --info learned \
      --output html -o report.html
  sluice simulate --cluster 3x4 --interval 10s --restart 10s \
      --workload sweeps:generated:sweeps=10:trials=200:beside=w4@5m
  sluice simulate --cluster 1250x8 --workload gen:powerlaw@1000000 \
      --policy fcfs --output json | jq .mean_jct_s`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx, stop := terminal.Interruptible(cmd.Context())
			defer stop()
			return terminal.Interrupted(ctx, o.simulate(ctx, cmd.OutOrStdout(), cmd.ErrOrStderr()))
		},
	}
	o.flags(c)
	return c
}

func (o *simulateOptions) flags(c *cobra.Command) {
	f := c.Flags()
	f.SortFlags = false
	f.StringVar(&o.cluster, "cluster", "", "nodes and GPUs a node, such as 16x4; several kinds with commas: 4x8,2x4, by type of GPU and how many times as fast as the workload says: 4x4:a100,4x4:t4=0.5")
	f.StringSliceVar(&o.workloads, "workload", nil, "a file, gen:NAME[@ARGUMENT][:SEED] or sweeps:generated|PATH[:KEY=VALUE]...[:SEED]; repeat, or separate by commas")
	f.StringVar(&o.format, "format", "", "what the files are: "+formatNames())
	f.StringVar(&o.profiles, "profiles", "", "folder of measured step times (pollux) or throughput tables (elasticflow)")
	f.StringSliceVar(&o.policies, "policy", []string{policy.All[0].Name}, "policies to compare, separated by commas, or all; the first is what the others are compared with")
	f.DurationVar(&o.interval, "interval", time.Minute, "time between two decisions")
	f.StringVar(&o.restart, "restart", "30s", "what a start and every resize cost; model = each job by its model's size")
	f.StringVar(&o.info, "info", string(replay.Oracle), "speeds that policies use: oracle (the true ones) or learned (what the daemon would have measured)")
	f.StringVar(&o.placing, "placing", string(replay.Ours), "rules of placement: sluice, or published for those of published simulators")
	f.Uint64Var(&o.seed, "seed", 1, "seed of the generators and of the simulation")
	f.IntVar(&o.seeds, "seeds", 1, "how many seeds to run, from --seed on")
	f.Float64SliceVar(&o.loads, "load", []float64{1}, "multiply the number of jobs in the same time by this, by thinning or merging; several with commas")
	f.DurationVar(&o.cooldown, "cooldown", 0, "least time between two voluntary resizes of a job")
	f.Float64Var(&o.payback, "payback", 2, "a voluntary resize must save this many times its cost")
	f.BoolVar(&o.preempt, "preempt", false, "let policies stop started jobs below their minimum")
	f.Float64Var(&o.overload, "overload", 0, "with --preempt: only while the minimums of all jobs exceed this share of the GPUs; 0 = whenever it helps")
	f.DurationVar(&o.wait, "wait", 0, "with --preempt: maximum time without GPUs for a started job, as far as there are GPUs; 0 = no bound")
	f.BoolVar(&o.share, "share-nodes", false, "let two jobs over several nodes share a node")
	f.BoolVar(&o.anySplit, "any-split", false, "assume that any split of GPUs over nodes is possible; Slurm allows fewer")
	f.BoolVar(&o.bound, "bound", false, "compute a mean JCT that no policy can beat under the same rules (minimum kept, first GPU within a round, if both hold for the run), and the ratio to it; takes longer")
	f.StringVar(&o.cost, "gpu-cost", "0.1", "what an hour of a GPU costs where its best use is worth 1, for the policy welfare; by type: a100=0.4,t4=0.1")
	f.StringVar(&o.shares, "shares", "", "shares of accounts, within which every policy decides: phys=60,bio=40; phys/theory=2 is a sub-account, ann@phys=2 a user; see above")
	f.DurationVar(&o.halfLife, "half-life", share.DefaultHalfLife, "with --shares: after this time GPU-hours beyond a share count half, as PriorityDecayHalfLife")
	f.StringVar(&o.output, "output", "table", "table, json (one object a line), csv or html")
	f.StringVarP(&o.file, "out", "o", "", "file to write to rather than standard output")
	f.StringVar(&o.events, "events", "", "write the events of the simulations to this file, one JSON object per line")
	f.StringVar(&o.jobs, "jobs", "", "write one line of CSV per job to this file: arrival, start, end, GPU-seconds, moves")
	f.BoolVar(&o.engine, "engine", false, "run the whole daemon, with its resize protocol, on a simulated Slurm instead of rounds; slower")
	f.IntVar(&o.parallel, "parallel", 1, "parallel simulations; above 1 the time of decisions is not measured; 0 = one per CPU")
}

// simulateHelp is the long help: what is simulated, and the options.
func simulateHelp() string {
	var b strings.Builder
	b.WriteString(`Replays jobs under one or several policies and reports the results. Policies and
placement are the daemon's own; Slurm is reduced to GPUs that are reassigned at each
round and a restart that costs time. Nothing is submitted and no daemon is needed.

The same input and seed give the same output, byte for byte, except the time of
decisions (decision_ms, DECIDE: median, 99th percentile and the longest). A table shows the mean over seeds; json and csv
have one object, or line, for each policy, workload and seed; --jobs has one for each job.
Times are seconds. The rules of the runs are the daemon's own unless options say otherwise;
policies that were published with other rules perform worse under these.

With --shares every policy divides the GPUs within what accounts and users deserve by
their shares, and idle GPUs are lent. Users that are not named have 1 share in their account.
Jobs of a generator, or of a recording without accounts, get accounts drawn with the seed;
sacct (column Account), philly (vc) and sluice (account) name them. The report has for
each account the GPU-hours that it had and deserved while not everybody could have what it
wanted, those beyond its own part of the cluster (borrowed), and those of its part that others
had (lent).

Generators (gen:NAME, gen:NAME@ARGUMENT, and :SEED behind either):

`)
	for _, g := range workload.Generators() {
		name := g.Name
		if g.Argument != "" {
			name += "[@" + g.Argument + "]"
		}
		fmt.Fprintf(&b, "  %-16s %s\n", name, g.Doc)
	}
	b.WriteString(sweepsHelp() + "\nPolicies:\n\n")
	for _, p := range policy.All {
		fmt.Fprintf(&b, "  %-16s %s\n", p.Name, p.Doc)
	}
	return strings.TrimRight(b.String(), "\n")
}

// sweepsHelp is the part about workloads of sweeps.
func sweepsHelp() string {
	var b strings.Builder
	b.WriteString(`
Sweeps (` + workload.SweepsSyntax + `): PATH is a folder of files
task-*.csv.gz, or one of them: parameters, acc_1.. and sec_1.. for each configuration.
'generated' draws learning curves. Lanes are GPUs of their own and go through the same
decisions as jobs. The report says for each sweep when its first lane had a GPU, when
the goal was reached, and its trials and GPU-hours. Keys:

`)
	keys, says := workload.SweepKeys()
	for i, key := range keys {
		fmt.Fprintf(&b, "  %-16s %s\n", key, says[i])
	}
	return b.String()
}

// check refuses what cannot be run before anything is read.
func (o *simulateOptions) check() error {
	switch {
	case o.cluster == "":
		return errors.New("say what to simulate: --cluster 16x4 is 16 nodes with 4 GPUs each")
	case len(o.workloads) == 0:
		return errors.New("say which jobs: --workload FILE --format " + formatNames() + ", or gen:NAME with one of " + generatorNames())
	case o.interval < time.Millisecond || o.interval > 30*24*time.Hour:
		return fmt.Errorf("--interval %v: want 1ms to 720h", o.interval)
	case o.seeds < 1 || o.seeds > 10_000:
		return fmt.Errorf("--seeds %d: want 1 to 10000", o.seeds)
	case o.cooldown < 0:
		return fmt.Errorf("--cooldown %v: may not be negative", o.cooldown)
	case !(o.payback >= 0 && o.payback <= 100):
		return fmt.Errorf("--payback %v: want 0 to 100", o.payback)
	case !(o.overload >= 0 && o.overload <= 100) || o.wait < 0:
		return fmt.Errorf("--overload %v, --wait %v: want 0 to 100, and no negative time", o.overload, o.wait)
	case !o.preempt && (o.overload > 0 || o.wait > 0):
		return errors.New("--overload and --wait bound --preempt: give it too")
	case o.engine && (o.anySplit || o.placing == "published"):
		return errors.New("--engine decides and places as the daemon does: leave out --any-split and --placing published")
	case o.engine && o.bound:
		return errors.New("--bound holds for decisions in rounds: leave it out with --engine")
	case o.engine && o.shares != "":
		return errors.New("--shares holds for decisions in rounds: leave it out with --engine")
	case o.bound && o.shares != "":
		return errors.New("--bound knows no shares: leave one of --bound and --shares out")
	case o.shares != "" && o.halfLife <= 0:
		return fmt.Errorf("--half-life %v: want a time above 0", o.halfLife)
	case o.parallel < 0 || o.parallel > 1024:
		return fmt.Errorf("--parallel %d: want 0 to 1024", o.parallel)
	case o.events != "" && o.parallel != 1:
		return errors.New("--events keeps the order in which things happen: leave --parallel at 1 with it")
	}
	for _, l := range o.loads {
		if !(l > 0 && l <= 100) {
			return fmt.Errorf("--load %v: want above 0 and at most 100", l)
		}
	}
	return errors.Join(
		oneOf("--info", o.info, string(replay.Oracle), string(replay.Learned)),
		oneOf("--placing", o.placing, string(replay.Ours), string(replay.Published)),
		oneOf("--output", o.output, "table", "json", "csv", "html"))
}

// oneOf refuses a word that is not in the list.
func oneOf(flag, word string, words ...string) error {
	if slices.Contains(words, word) {
		return nil
	}
	return fmt.Errorf("%s %q: want %s", flag, word, strings.Join(words, ", "))
}

// simulate runs all simulations and writes the report, which contains the simulations
// that ended, also after an error or Ctrl-C.
func (o *simulateOptions) simulate(ctx context.Context, out, errs io.Writer) error {
	if err := o.check(); err != nil {
		return err
	}
	plan, err := o.plan()
	if err != nil {
		return err
	}
	sink, err := openSink("-o", o.file, out)
	if err != nil {
		return err
	}
	jobs, err := openSink("--jobs", o.jobs, io.Discard)
	if err != nil {
		return errors.Join(err, sink.drop())
	}
	runs, err := plan.run(ctx, newProgress(errs, len(plan.cases)))
	of := fmt.Sprintf("%d of %d simulations ended, and the report is of these", len(runs), len(plan.cases))
	if len(runs) == 0 {
		of = "no simulation ended"
	}
	switch {
	case err != nil && ctx.Err() != nil:
		err = errors.New("interrupted: " + of)
	case err != nil && len(runs) > 0:
		err = fmt.Errorf("%w\n%s", err, of)
	}
	if len(runs) == 0 {
		return errors.Join(err, sink.drop(), jobs.drop())
	}
	return errors.Join(err, sink.write(func(w io.Writer) error { return o.write(w, runs) }),
		jobs.write(func(w io.Writer) error { return report.WriteJobs(w, runs) }))
}

// choose returns the requested policies.
func (o *simulateOptions) choose() ([]policy.Policy, error) {
	if slices.Equal(o.policies, []string{"all"}) {
		return policy.All, nil
	}
	var out []policy.Policy
	for _, name := range o.policies {
		p, err := policy.ByName(strings.TrimSpace(name))
		if err != nil {
			return nil, fmt.Errorf("--policy: %w", err)
		}
		if slices.ContainsFunc(out, func(q policy.Policy) bool { return q.Name == p.Name }) {
			return nil, fmt.Errorf("--policy: %s is named twice", p.Name)
		}
		out = append(out, p)
	}
	if len(out) == 0 {
		return nil, errors.New("--policy: name one or more, such as " + policy.All[0].Name)
	}
	return out, nil
}
