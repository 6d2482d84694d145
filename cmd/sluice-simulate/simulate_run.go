package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/policy"
	"github.com/sluice-hpc/sluice/elastic/sim/replay"
	"github.com/sluice-hpc/sluice/elastic/sim/report"
	"github.com/sluice-hpc/sluice/elastic/sim/whole"
	"github.com/sluice-hpc/sluice/elastic/sim/workload"
)

// simulation is everything to run, in the order of the report.
type simulation struct {
	options *simulateOptions
	config  replay.Config // everything except policy, seed and listeners
	setting report.Setting
	restart restartPrice
	bounds  bounds
	cases   []simulationCase
}

// simulationCase is one run.
type simulationCase struct {
	source source
	policy policy.Policy
	seed   uint64
	draw   bool // its course is kept for the HTML page
}

// plan reads the command line and the workloads.
func (o *simulateOptions) plan() (*simulation, error) {
	inventory, gpus, times, err := parseTypes(o.cluster)
	if err != nil {
		return nil, err
	}
	if times != nil && (o.engine || o.bound) {
		return nil, errors.New("--cluster with :TYPE=TIMES: leave out --engine and --bound, which use one speed per job")
	}
	costs, err := parseCosts(o.cost)
	if err != nil {
		return nil, err
	}
	policies, err := o.choose()
	if err != nil {
		return nil, err
	}
	price, err := parseRestart(o.restart)
	if err != nil {
		return nil, err
	}
	tree, err := o.tree()
	if err != nil {
		return nil, err
	}
	sources, err := o.sources(workload.Options{GPUs: gpus, PerNode: perNode(inventory)})
	if err != nil {
		return nil, err
	}
	published := o.placing == string(replay.Published)
	s := &simulation{options: o, restart: price}
	s.config = replay.Config{
		Shares: tree, HalfLife: o.halfLife,
		Nodes: inventory, Interval: o.interval, Restart: price.fixed, Info: replay.Info(o.info), Placing: replay.Placing(o.placing), Faster: faster(times),
		Limits: elastic.Limits{
			Cooldown: o.cooldown, Payback: o.payback, Preempt: o.preempt, Overload: o.overload, Wait: o.wait,
			ShareNodes: o.share || published, Costs: costs,
		},
	}
	if o.anySplit || published {
		s.config.Limits.Placement = replay.AnySplit
	}
	s.setting = report.Setting{
		Cluster: o.cluster, Engine: o.engine, GPUs: gpus, Interval: o.interval, Placing: s.config.Placing, Cooldown: o.cooldown,
		Payback: o.payback, Preempt: o.preempt, Overload: o.overload, Wait: o.wait, ShareNodes: s.config.Limits.ShareNodes, AnySplit: s.config.Limits.AnySplit(),
	}
	for _, src := range sources {
		src.accounts = leaves(tree)
		for _, p := range policies {
			for k := range o.seeds {
				s.cases = append(s.cases, simulationCase{src, p, src.first(o.seed) + uint64(k), o.output == "html" && k == 0})
			}
		}
	}
	return s, nil
}

// run runs every case and returns those that ended, in order.
func (s *simulation) run(ctx context.Context, p *progress) ([]report.Run, error) {
	defer p.clear()
	defer lessCollection()()
	var events *report.EventWriter
	if path := s.options.events; path != "" {
		f, err := os.Create(path)
		if err != nil {
			return nil, fmt.Errorf("--events: %w", err)
		}
		defer f.Close()
		events = report.NewEventWriter(f)
	}
	done := make([]*report.Run, len(s.cases))
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(s.atOnce())
	for i, c := range s.cases {
		g.Go(func() error {
			r, err := s.one(ctx, c, events, p.of(c.policy.Name))
			if err == nil {
				done[i] = &r
			}
			return err
		})
	}
	err := g.Wait()
	if events != nil {
		err = cmp.Or(err, events.Flush())
	}
	var out []report.Run
	for _, r := range done {
		if r != nil {
			out = append(out, *r)
		}
	}
	return out, err
}

// lessCollection makes the garbage collector run less often, until the returned function
// is called: a round allocates garbage and little else, and this saves a third of the
// time of long simulations, at the cost of some hundred MB with a million jobs.
func lessCollection() (restore func()) {
	if os.Getenv("GOGC") != "" {
		return func() {}
	}
	before := debug.SetGCPercent(300)
	weight := make([]byte, collectFrom) // never touched: it uses addresses, no memory
	return func() {
		runtime.KeepAlive(weight)
		debug.SetGCPercent(before)
	}
}

// collectFrom is a ballast on the heap: simulations of some thousand jobs have so little
// live memory that garbage would be collected every few ms. With it a collection begins
// at 128 MB.
const collectFrom = 32 << 20

// atOnce is how many simulations run in parallel.
func (s *simulation) atOnce() int {
	return cmp.Or(s.options.parallel, runtime.GOMAXPROCS(0))
}

// one runs one case.
func (s *simulation) one(ctx context.Context, c simulationCase, events *report.EventWriter, p *oneProgress) (report.Run, error) {
	w, err := c.source.workload(c.seed)
	if err != nil {
		return report.Run{}, err
	}
	price, err := s.restart.priced(w)
	if err != nil {
		return report.Run{}, err
	}
	cfg, setting := s.config, s.setting
	setting.Stops = c.policy.Stops
	cfg.Policy, cfg.Seed, cfg.Progress = c.policy, c.seed, p.start(w)
	setting.Seed, setting.Load, setting.Restart, setting.ByModel = c.seed, c.source.load, price.mean, s.restart.byModel
	if s.restart.byModel {
		job := 0
		cfg.RestartOf = func(workload.Job) time.Duration { job++; return price.of(job - 1) }
	}
	if s.atOnce() == 1 {
		begin := time.Now()
		cfg.Timer = func() time.Duration { return time.Since(begin) }
	}
	var run report.Run
	if c.draw {
		run.Track = report.NewTrack(w.Count, price.of)
		cfg.Events = run.Track.Event
	}
	if events != nil {
		cfg.Events = both(cfg.Events, events.Of(c.policy.Name, w.Name, c.seed))
	}
	res, err := s.play(ctx, cfg, w)
	if err != nil {
		return run, err
	}
	if s.options.bound {
		if setting.Bound, err = s.bounds.of(ctx, s, w, c.seed, price.least, prompt(res, cfg.Interval)); err != nil {
			return run, err
		}
	}
	run.Summary, run.Accounts, run.Sweeps = report.Summarise(res, setting), report.Accounts(res), report.Sweeps(res)
	if s.options.jobs != "" {
		run.Jobs = res.Jobs
	}
	if s.options.output == "html" {
		run.Spread = report.Spread(res.Jobs)
	}
	p.end()
	return run, nil
}

// play runs a workload in rounds, or under the whole engine.
func (s *simulation) play(ctx context.Context, cfg replay.Config, w workload.Workload) (replay.Result, error) {
	if s.options.engine {
		return whole.Run(ctx, whole.Config{Config: cfg, Hook: true}, w)
	}
	return replay.Run(ctx, cfg, w)
}

// both passes an event to two listeners; the first may be nil.
func both(a, b func(replay.Event)) func(replay.Event) {
	if a == nil {
		return b
	}
	return func(e replay.Event) { a(e); b(e) }
}
