package exact

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// deaths are all kills of a campaign and what the killed trainings show.
type deaths struct {
	comparison
	precision
	list    []death
	jobs    int
	crashes int      // crashes of slurmctld that the campaign did not cause
	resizes int      // runs after the first that were not caused by a kill
	inMoves int      // steps lost in those; must be 0
	broken  []string // violations, as text
}

// campaign kills on one or several labs until there were enough kills.
func campaign(ctx context.Context, o Options, s *story, p precision) (deaths, error) {
	all := deaths{precision: p}
	var mu sync.Mutex
	var done sync.WaitGroup
	var left atomic.Int64
	left.Store(int64(o.Kills))
	errs := make([]error, o.Labs)
	for i := range o.Labs {
		done.Add(1)
		go func() { // ends with its lab's share of the kills
			defer done.Done()
			t, err := newTrial(ctx, o, s, i+1, p)
			if err != nil {
				errs[i] = err
				return
			}
			defer func() { errs[i] = errors.Join(errs[i], t.close(ctx)) }()
			rng := rand.New(rand.NewPCG(o.Seed, uint64(i)))
			for left.Load() > 0 && ctx.Err() == nil && errs[i] == nil {
				errs[i] = t.life(ctx, rng, &left, &mu, &all)
			}
		}()
	}
	done.Wait()
	return all, errors.Join(append(errs, ctx.Err())...)
}

// most is the number of violations at which the campaign is stopped.
const most = 20

// life is one training, killed repeatedly until it completes or there were enough kills;
// then it runs to its end.
func (t *trial) life(ctx context.Context, rng *rand.Rand, left *atomic.Int64, mu *sync.Mutex, all *deaths) error {
	order := []string{"--emulate-step-seconds", "0.24", "--checkpoint-steps", "10", "--save-seconds", "0.15"}
	if t.jobs%2 == 1 { // every second job
		order = append(order, "--background")
	}
	j, err := t.submit(ctx, order...)
	if err != nil {
		return err
	}
	var mine []death
	var broken []string
	for left.Load() > 0 && j.roomFor(ctx) {
		d, err := j.die(ctx, rng)
		if errors.Is(err, errOver) || ctx.Err() != nil {
			break
		}
		if err != nil {
			d.by = "" // it did not come back
		}
		if d.struck {
			left.Add(-1)
			mine = append(mine, d)
		}
		if err != nil {
			broken = append(broken, fmt.Sprintf("job %d, %s: %v", j.id, d.attempt(), err))
			break
		}
		broken = append(broken, d.judge(j.id)...)
		t.tell("%s; %d to go", d, max(0, left.Load()))
	}
	err = errors.Join(j.repair(ctx), j.ends(ctx))
	if ctx.Err() != nil { // given up: the job did not run to its end, and its log shows nothing
		mu.Lock()
		defer mu.Unlock()
		all.crashes, t.crashes = all.crashes+t.crashes, 0
		all.list, all.broken = append(all.list, mine...), append(all.broken, broken...)
		return ctx.Err()
	}
	if err != nil {
		broken = append(broken, fmt.Sprintf("job %d: %v", j.id, err))
		_ = j.cancel(ctx) // it may have ended
	}
	for _, words := range broken {
		t.tell("VIOLATION: %s", words)
	}
	log, err := j.records()
	c := compare(log, t.reference, t.bound)
	t.tell("job %d: sizes %s, largest difference %.2g", j.id, words(c.Worlds), c.Off)
	mu.Lock()
	defer mu.Unlock()
	all.take(j.id, log, c, mine, broken)
	if len(all.broken) >= most {
		err = errors.Join(err, fmt.Errorf("%d violations: stopping", most))
	}
	return err
}

// roomFor waits for the job's next steps and reports whether enough steps are left in
// which to kill.
func (j *job) roomFor(ctx context.Context) bool {
	ok := false
	err := j.until(ctx, 2*time.Minute, "to train", func() (bool, error) {
		list, err := j.records()
		if len(list) == 0 || err != nil {
			return false, err
		}
		ok = list[len(list)-1].step < steps-150
		return true, nil
	})
	return ok && err == nil
}

// take adds what a training showed.
func (a *deaths) take(id int64, log []record, c comparison, mine []death, broken []string) {
	a.add(c)
	a.jobs++
	a.list = append(a.list, mine...)
	a.broken = append(a.broken, broken...)
	for i := 1; i < len(log); i++ {
		if log[i].restart == log[i-1].restart {
			continue
		}
		if !slices.ContainsFunc(mine, func(d death) bool { return d.run >= log[i-1].restart && d.run < log[i].restart }) {
			a.resizes++
			a.inMoves += log[i-1].step + 1 - log[i].step
		}
	}
	if c.Missing > 0 || c.Wrong > 0 {
		a.broken = append(a.broken, fmt.Sprintf("job %d: %d steps missing, %d wrong losses", id, c.Missing, c.Wrong))
	}
}

// judge returns the violations that a kill caused.
func (d death) judge(id int64) []string {
	var broken []string
	if d.resumed != d.expected {
		broken = append(broken, fmt.Sprintf("job %d resumed from %q, the newest committed checkpoint was %q (run %d, %s killed)", id, d.resumed, d.expected, d.run, d.kind))
	}
	if d.corrupted != "" && d.resumed == d.corrupted {
		broken = append(broken, fmt.Sprintf("job %d loaded the corrupt checkpoint %s", id, d.corrupted))
	}
	return broken
}

// attempt describes what was done, or was to be done, before its result is known.
func (d death) attempt() string {
	if !d.struck {
		return fmt.Sprintf("no %s killed (%s)", d.kind, d.moment)
	}
	return fmt.Sprintf("%s killed (%s)", d.kind, d.moment)
}

// String is the kill in one line.
func (d death) String() string {
	text := fmt.Sprintf("%s in run %d", d.attempt(), d.run)
	if d.saving {
		text += ", during a save"
	}
	if d.moving {
		text += ", during a move"
	}
	text += fmt.Sprintf("; requeued by %s", d.by)
	if d.again > 0 {
		text += fmt.Sprintf(" (%d restarts failed)", d.again)
	}
	if d.corrupted != "" {
		text += fmt.Sprintf("; %s corrupted", d.corrupted)
	}
	return text + fmt.Sprintf("; resumed %s at step %d, %d steps again, %.1f s", d.resumed, d.committed, d.lost, d.back.Seconds())
}

// print prints a line for each kind of kill.
func (a deaths) print(w io.Writer) {
	fmt.Fprintf(w, "\nkill -9 at random moments, while the job is being resized between 1, 2, 3, 4 and 6 GPUs.\n\n%8s %6s %8s %8s %9s %8s %9s %8s %13s %15s\n",
		"killed", "times", "in save", "in move", "corrupted", "by Slurm", "by sluice", "by user", "steps again", "seconds away")
	for _, kind := range append(slices.Clone(kinds), "all") {
		k := a.of(kind)
		fmt.Fprintf(w, "%8s %6d %8d %8d %9d %8d %9d %8d %6.1f, <= %2d %7.1f, <= %2.0f\n",
			kind, k.times, k.saving, k.moving, k.corrupted, k.bySlurm, k.bySluice, k.byUser, k.lost, k.mostLost, k.away, k.mostAway)
	}
	fmt.Fprintln(w)
	a.printSizes(w, a.bound)
	for _, words := range a.broken {
		fmt.Fprintf(w, "VIOLATION: %s\n", words)
	}
}

// kindOf sums up the kills of one kind.
type kindOf struct {
	times, saving, moving, corrupted, bySlurm, bySluice, byUser, again int
	lost, away, mostAway                                               float64
	mostLost                                                           int
}

func (a deaths) of(kind string) kindOf {
	var k kindOf
	for _, d := range a.list {
		if kind != "all" && d.kind != kind {
			continue
		}
		k.times++
		k.saving, k.moving, k.corrupted = k.saving+one(d.saving), k.moving+one(d.moving), k.corrupted+one(d.corrupted != "")
		k.bySlurm, k.byUser = k.bySlurm+one(d.by == "Slurm"), k.byUser+one(d.by == "user")
		k.bySluice, k.again = k.bySluice+one(d.by == "sluice"), k.again+d.again
		if d.by == "" {
			continue
		}
		k.lost, k.mostLost = k.lost+float64(d.lost), max(k.mostLost, d.lost)
		k.away, k.mostAway = k.away+d.back.Seconds(), max(k.mostAway, d.back.Seconds())
	}
	if back := k.back(); back > 0 { // means of those that came back
		k.lost, k.away = k.lost/float64(back), k.away/float64(back)
	}
	return k
}

// back is how many came back.
func (k kindOf) back() int { return k.bySlurm + k.bySluice + k.byUser }

func one(yes bool) int {
	if yes {
		return 1
	}
	return 0
}

// verdict prints the line of figures and returns an error for violations.
func (a deaths) verdict(w io.Writer) error {
	k, loaded := a.of("all"), 0
	for _, d := range a.list {
		loaded += one(d.corrupted != "" && d.corrupted == d.resumed)
	}
	fmt.Fprintf(w, "exact: numbers=%s kills=%d worker=%d runner=%d node=%d in_save=%d in_move=%d resizes=%d jobs=%d back=%d by_slurm=%d by_sluice=%d by_user=%d restarts_failed=%d slurmctld_crashed=%d corrupted=%d corrupt_loaded=%d lost_in_resizes=%d steps=%d repeated=%d missing=%d wrong_losses=%d largest_difference=%.2g promises_broken=%d\n",
		a.name, k.times, a.of("worker").times, a.of("runner").times, a.of("node").times, k.saving, k.moving, a.resizes, a.jobs, k.back(), k.bySlurm, k.bySluice, k.byUser, k.again, a.crashes,
		k.corrupted, loaded, a.inMoves, a.Steps, a.Repeated, a.Missing, a.Wrong, a.Off, len(a.broken))
	if len(a.broken) > 0 || a.inMoves > 0 {
		return fmt.Errorf("%d violations, %d steps lost in resizes", len(a.broken), a.inMoves)
	}
	return nil
}
