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
	"github.com/sluice-hpc/sluice/elastic/sim/workload"
	planner "github.com/sluice-hpc/sluice/nodes"
)

// whatifOptions are the command line of "sluice whatif".
type whatifOptions struct {
	sacct      string
	cluster    string
	partitions []string
	policy     string
	interval   time.Duration
	restart    time.Duration
	assume     workload.Assumption
	asJSON     bool
	submit     string
	trialTime  time.Duration
}

func newWhatifCommand() *cobra.Command {
	o := whatifOptions{assume: workload.Likely}
	c := &cobra.Command{
		Use:   "whatif --sacct FILE|--submit FILE [OPTION]...",
		Short: "Replay this cluster's history: what would sluice have changed?",
		Long: `Reads a cluster's history from its accounting and replays it twice: with every job at
the size it had, and with sizes chosen by sluice. Nothing is submitted and no daemon
is needed. Print the accounts of a month, say, with

` + printHistory() + `

Accounting has one size and one run time for each job. Its run time at other sizes is
an assumption; it is printed, can be changed, and is varied both ways.

With --submit FILE, a script, TOML or a W&B sweep in YAML, sluiced is asked what a
sweep would get if it were submitted now, beside the jobs and sweeps that there are,
and which jobs would end later. Nothing is submitted.`,
		Example: `  sluice whatif --sacct history.txt
  sluice whatif --sacct history.txt --partition gpu --cluster 16x4
  sluice whatif --sacct history.txt --assume-serial 0.1 --elastic-share 0.5
  sluice whatif --submit sweep.sh --trial-time 5m`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if o.submit != "" {
				return o.whatifSubmit(cmd)
			}
			ctx, stop := terminal.Interruptible(cmd.Context())
			defer stop()
			return terminal.Interrupted(ctx, o.whatif(ctx, cmd.OutOrStdout(), cmd.ErrOrStderr()))
		},
	}
	o.flags(c)
	return c
}

// printHistory is workload.SacctCommand for a shell, in lines that fit a terminal.
func printHistory() string {
	command, fields, _ := strings.Cut(workload.SacctCommand, "--format=")
	all := strings.Split(fields, ",")
	half := len(all) / 2
	return "  F=" + strings.Join(all[:half], ",") + "\n  F=$F," + strings.Join(all[half:], ",") + "\n  " + command + "--format=$F > history.txt"
}

func (o *whatifOptions) flags(c *cobra.Command) {
	f := c.Flags()
	f.SortFlags = false
	f.StringVar(&o.sacct, "sacct", "", "the output of sacct -P, with its header")
	f.StringVar(&o.submit, "submit", "", "a sweep, as sluice submit takes it: what would it get now?")
	f.DurationVar(&o.trialTime, "trial-time", 0, "with --submit: how long one trial takes in a lane, on average")
	f.StringVar(&o.cluster, "cluster", "", "nodes and GPUs a node, such as 16x4 or 4x8,2x4 (default: as many as were in use at the peak)")
	f.StringSliceVar(&o.partitions, "partition", nil, "only jobs of these partitions")
	f.StringVar(&o.policy, "policy", policy.All[0].Name, "the policy sluice would use")
	f.Float64Var(&o.assume.Serial, "assume-serial", o.assume.Serial, "share of a job's work that more GPUs do not speed up")
	f.Float64Var(&o.assume.PerNode, "assume-node", o.assume.PerNode, "share of a job's time that each further node adds")
	f.Float64Var(&o.assume.Elastic, "elastic-share", o.assume.Elastic, "share of the jobs whose users would make them elastic")
	f.DurationVar(&o.assume.Shortest, "elastic-from", o.assume.Shortest, "jobs that ran shorter keep their size")
	f.IntVar(&o.assume.Growth, "growth", o.assume.Growth, "maximum of an elastic job: its GPUs times this")
	f.IntVar(&o.assume.Shrink, "shrink", o.assume.Shrink, "minimum of an elastic job: its GPUs divided by this; 0 = one GPU")
	f.DurationVar(&o.restart, "restart", 30*time.Second, "what every start and resize by sluice costs a job")
	f.DurationVar(&o.interval, "interval", time.Minute, "time between two decisions")
	f.BoolVar(&o.asJSON, "json", false, "print JSON")
}

// check refuses what cannot be run before anything is read.
func (o *whatifOptions) check() error {
	switch {
	case o.sacct == "":
		return errors.New("say whose history: --sacct FILE; print one with\n" + workload.SacctCommand + " > history.txt\nor which sweep: --submit FILE")
	case o.interval < time.Second || o.interval > 24*time.Hour:
		return fmt.Errorf("--interval %v: want 1s to 24h", o.interval)
	case o.restart < 0 || o.restart > 24*time.Hour:
		return fmt.Errorf("--restart %v: want 0s to 24h", o.restart)
	}
	return o.assume.Validate()
}

func (o *whatifOptions) whatif(ctx context.Context, out, errs io.Writer) error {
	if err := o.check(); err != nil {
		return err
	}
	p, err := policy.ByName(o.policy)
	if err != nil {
		return fmt.Errorf("--policy: %w", err)
	}
	h, err := workload.ReadHistory(o.sacct, o.partitions)
	if err != nil {
		return err
	}
	site, err := o.site(h)
	if err != nil {
		return err
	}
	w := whatif{options: o, history: h, site: site}
	if err := w.run(ctx, p, errs); err != nil {
		return err
	}
	if o.asJSON {
		return terminal.WriteJSON(out, w.wire())
	}
	return w.write(out)
}

// site is the cluster on which the history is replayed.
type whatifSite struct {
	nodes    []planner.Node
	gpus     int
	text     string // in the syntax of --cluster
	inferred bool
}

// site is the cluster given, or the smallest one on which the history fits. Every job
// must fit on it when it is empty.
func (o *whatifOptions) site(h workload.History) (whatifSite, error) {
	s := whatifSite{text: o.cluster}
	if o.cluster == "" {
		count, each := h.Cluster()
		s.text, s.inferred = fmt.Sprintf("%dx%d", count, each), true
	}
	var err error
	if s.nodes, s.gpus, err = parseCluster(s.text); err != nil {
		return s, err
	}
	tried := map[int]bool{}
	for _, r := range h.Runs {
		if tried[r.GPUs] {
			continue
		}
		tried[r.GPUs] = true
		got := planner.Place(slices.Clone(s.nodes), []planner.Request{fixedRequest(int64(len(tried)), r.GPUs)})
		if len(got[0].Placement) == 0 {
			return s, fmt.Errorf("job %s had %s, which a cluster of %s does not have; name the one it ran on with --cluster NODESxGPUS", r.ID, terminal.Plural(r.GPUs, "GPU"), s.text)
		}
	}
	return s, nil
}

// fixedRequest requests nodes as plain Slurm gives them: any split, and nodes may be
// shared.
func fixedRequest(id int64, gpus int) planner.Request {
	return planner.Request{ID: id, GPUs: gpus, Uneven: true, Share: true}
}
