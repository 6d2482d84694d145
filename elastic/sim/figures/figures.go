package figures

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
)

// Options say what to measure.
type Options struct {
	// Testbench is the folder of testbench A, which holds workloads and profiles;
	// "" leaves out what needs it.
	Testbench string
	// Deadlines is the folder of testbench B, which holds traces and throughputs; likewise.
	Deadlines string
	// Sweeps is the folder of testbench D, which holds learning curves; likewise.
	Sweeps string
	Only   []int // figures; nil = all
	// Quick runs few seeds and few settings, for a look.
	Quick   bool
	Seeds   int // of system A's experiment; 0 = 30, or 2 in a quick run
	Workers int // simulations at the same time, at least 1
	// Clock is the time this process has computed for; decisions are timed by it.
	Clock func() time.Duration
	// Progress, when set, is called after every simulation.
	Progress func(done, of int)
}

// figure is one section of the output. What ask wants to know is worked out, then
// what it returned writes the lines.
type figure struct {
	number int
	title  string
	needs  func(Options) string // the folder it cannot do without; nil = none
	ask    func(*bench) func(*sheet)
}

var all = []figure{
	{1, "system A's experiment: every policy relative to fcfs, ef and knapsack", nil, experiment},
	{2, "testbench A, workloads 1 to 4: every policy, told everything and learning", testbenchFolder, testbench},
	{3, "testbench A: loads, intervals and restart costs, and the worst step between neighbours", testbenchFolder, slopes},
	{4, "distance to the lower bound on mean JCT, and parking under overload", testbenchFolder, distance},
	{5, "CPU time of a decision of lookahead", nil, decisions},
	{6, "learned against told everything: ratio of mean JCT", nil, learning},
	{8, "testbench B: share of deadlines met, and CPU time of a decision of deadline", deadlinesFolder, deadlines},
	{9, "profiles of testbench A: speeds of configurations that were held back", testbenchFolder, predictions},
	{10, "testbench A, of one and of two types of GPU: annealing beside knapsack and lookahead, CPU time, and how far each is from the best plan", testbenchFolder, annealings},
	{11, "welfare: JCT, makespan and welfare on one and on two types of GPU, CPU time, distance to the exact best, regret of learned speeds", nil, welfares},
	{12, "shares of accounts: GPU-hours against shares, mean JCT with and without, finish-time fairness", nil, shares},
	{14, "sweeps of several users on the same GPUs: time to goal", sweepsFolder, sharedSweeps},
	{15, "methods of search: regret on pools of configurations", sweepsFolder, poolSearch},
}

func testbenchFolder(o Options) string { return o.Testbench }
func deadlinesFolder(o Options) string { return o.Deadlines }

// Numbers lists the figures there are.
func Numbers() []int {
	out := make([]int, len(all))
	for i, f := range all {
		out[i] = f.number
	}
	return out
}

// Run works the figures out and writes each as soon as it and those before it are
// known. The lines are the same in every run with the same options, but for the
// times of decisions. It fails with the first simulation that does, or with ctx's
// error.
func Run(ctx context.Context, o Options, out io.Writer) error { return run(ctx, o, all, out) }

func run(ctx context.Context, o Options, all []figure, out io.Writer) error {
	b := newBench(ctx, o)
	defer b.quiet()
	defer b.stop()
	type section struct {
		figure
		write func(*sheet)
	}
	var sections []section
	for _, f := range all {
		if len(o.Only) > 0 && !slices.Contains(o.Only, f.number) {
			continue
		}
		s := section{figure: f}
		if f.needs == nil || f.needs(o) != "" {
			s.write = f.ask(b)
		}
		sections = append(sections, s)
	}
	b.start()
	for _, line := range strings.Split(preamble(o), "\n") {
		fmt.Fprintln(out, "# "+line)
	}
	for _, s := range sections {
		sheet := newSheet(s.number)
		fmt.Fprintf(out, "\n# Figure %d: %s\n", s.number, s.title)
		if s.write == nil {
			sheet.say("not measured: it needs data that is not there")
		} else {
			s.write(sheet)
		}
		if err := b.failed(); err != nil {
			return err
		}
		if err := sheet.writeTo(out); err != nil {
			return err
		}
	}
	return nil
}

// preamble says once what holds for all lines.
func preamble(o Options) string {
	text := `jct and p99 are seconds, makespan is hours, each the mean over the seeds or workloads named; a ratio is that of two such means.
restarts are moves a job, start not counted; longest is the longest wait to the first GPU of any job of any run, in seconds.
Rules: slurm = splits and moves as Slurm gives them, a started job keeps its minimum (cooldown 0, payback 1); installed = cooldown 30s, payback 2;
any split = as in published simulators, minimum kept; preempt = started jobs may be stopped; as published = placing, stops and splits of published simulators.`
	if o.Quick {
		text = "QUICK: few seeds, few settings; not the figures to quote.\n" + text
	}
	return text
}

// either returns the first value, or the second in a quick run.
func either[T any](b *bench, full, quick T) T {
	if b.Quick {
		return quick
	}
	return full
}
