package figures

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/sluice-hpc/sluice/elastic/policy"
	"github.com/sluice-hpc/sluice/elastic/sim/replay"
	"github.com/sluice-hpc/sluice/elastic/sim/report"
)

// bench runs what the figures ask for, each thing once, in the order asked.
type bench struct {
	Options
	ctx    context.Context
	loads  loads
	trials map[trial]*task
	queue  []*task
	bounds bounds

	mu   sync.Mutex
	next int   // of queue, to be taken
	done int   // of queue
	err  error // the first
	stop context.CancelFunc
	idle sync.WaitGroup
}

// task is one thing to work out.
type task struct {
	work     func(*task) error
	ready    chan struct{}
	sum      report.Summary     // of a trial
	paid     paid               // likewise
	bound    time.Duration      // of a floor
	accounts []report.Account   // of a parted trial
	jcts     map[string]float64 // likewise, by account
}

func newBench(ctx context.Context, o Options) *bench {
	b := &bench{Options: o, trials: map[trial]*task{}}
	b.ctx, b.stop = context.WithCancel(ctx)
	b.loads.folder, b.loads.deadlines = o.Testbench, o.Deadlines
	return b
}

// ask queues trials, and returns what will come of them.
func (b *bench) ask(trials ...trial) batch {
	out := batch{b: b}
	for _, t := range trials {
		k, known := b.trials[t]
		if !known {
			k = b.enqueue(func(k *task) (err error) {
				k.sum, k.paid, err = b.simulate(t)
				return err
			})
			b.trials[t] = k
		}
		out.tasks = append(out.tasks, k)
	}
	return out
}

func (b *bench) enqueue(work func(*task) error) *task {
	k := &task{work: work, ready: make(chan struct{})}
	b.queue = append(b.queue, k)
	return k
}

// start sets the workers to the queue, to which nothing is added any more.
func (b *bench) start() {
	for range max(1, b.Workers) {
		b.idle.Go(func() {
			for k := b.take(); k != nil; k = b.take() {
				b.finish(k, k.work(k))
			}
		})
	}
}

func (b *bench) take() *task {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.err != nil || b.next == len(b.queue) {
		return nil
	}
	b.next++
	return b.queue[b.next-1]
}

func (b *bench) finish(k *task, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if err != nil {
		b.keep(err)
		return
	}
	b.done++
	if b.Progress != nil {
		b.Progress(b.done, len(b.queue))
	}
	close(k.ready)
}

// fail ends the bench with an error.
func (b *bench) fail(err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.keep(err)
}

// keep remembers the first error, and stops the rest.
func (b *bench) keep(err error) {
	if b.err == nil {
		b.err = err
	}
	b.stop()
}

// quiet waits until nothing runs, so that a clock measures one thing only.
func (b *bench) quiet() { b.idle.Wait() }

// failed is the first error there was, or that of the context.
func (b *bench) failed() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.err != nil {
		return b.err
	}
	return b.ctx.Err()
}

// simulate runs a trial and sums it up.
func (b *bench) simulate(t trial) (report.Summary, paid, error) {
	r, err := b.replay(t, nil)
	if err != nil {
		return report.Summary{}, paid{}, err
	}
	return report.Summarise(r, report.Setting{Interval: t.interval, Restart: t.restart, Seed: t.seed}), paidIn(r), nil
}

// named is a policy of the table, or one that is shown beside them only.
func named(name string) (policy.Policy, error) {
	if name == policy.BySpeeds.Name {
		return policy.BySpeeds, nil
	}
	return policy.ByName(name)
}

// replay runs a trial; with a clock, decisions are timed.
func (b *bench) replay(t trial, clock func() time.Duration) (replay.Result, error) {
	w, err := b.loads.get(t.load, t.seed, t.times)
	if err != nil {
		return replay.Result{}, err
	}
	p, err := named(t.policy)
	if err != nil {
		return replay.Result{}, err
	}
	if t.wholeEpochs() {
		p = replay.WholeEpochs(p)
	}
	r, err := replay.Run(b.ctx, replay.Config{
		Nodes: t.inventory(), Faster: t.faster(), Policy: p, Interval: t.interval, Restart: t.restart, Info: t.info,
		Placing: t.rules.placing, Limits: t.rules.limits, Seed: t.seed, Timer: clock, RestartOn: t.restartOn(),
	}, w)
	if err != nil {
		return replay.Result{}, fmt.Errorf("%s on %s, seed %d, %s: %w", t.policy, t.load, t.seed, t.rules.name, err)
	}
	return r, nil
}
