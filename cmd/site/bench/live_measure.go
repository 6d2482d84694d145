package bench

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/sluice-hpc/sluice/cmd/site"
	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/control/wire"
	"github.com/sluice-hpc/sluice/elastic/policy"
	"github.com/sluice-hpc/sluice/elastic/sim/workload"
)

// measured is the result of the real run.
type measured struct {
	jct      float64 // mean, seconds
	restarts float64 // a job
	price    elastic.Price
	jobs     []story
}

// calibrate measures the resize cost on this machine, on four jobs that are resized at
// the same time, and sets the simulator's resize cost to it.
func (l *live) calibrate(ctx context.Context) error {
	l.tell("measuring what a move costs here: 4 jobs, %d resizes each", l.o.Rounds)
	guess := elastic.Price{Save: 500 * time.Millisecond, Drain: 500 * time.Millisecond, Start: 2 * time.Second, Load: time.Second}
	err := l.onSite(ctx, "knapsack", guess, func(s *liveSite) (err error) {
		l.price, err = s.resizes(ctx, 4, l.o.Rounds)
		return err
	})
	if err != nil {
		return err
	}
	l.tell("a move costs %s", priceWords(l.price))
	return l.fit(ctx)
}

func priceWords(p elastic.Price) string {
	return fmt.Sprintf("%.2f s: save %.2f, drain %.2f, start %.2f, load %.2f, mean of %d",
		p.Total().Seconds(), p.Save.Seconds(), p.Drain.Seconds(), p.Start.Seconds(), p.Load.Seconds(), p.Measured)
}

// resizes resizes jobs repeatedly between one GPU and two.
func (s *liveSite) resizes(ctx context.Context, jobs, rounds int) (elastic.Price, error) {
	var ids []int64
	for i := range jobs {
		id, err := s.submit(ctx, workload.Job{
			Name: fmt.Sprintf("calibrate%d", i), Speeds: workload.Assumed{Unit: 1}, Spec: elastic.Spec{Min: 1, Max: 2, Total: 1e6},
		})
		if err != nil {
			return elastic.Price{}, err
		}
		ids = append(ids, id)
	}
	for round := range rounds + 1 {
		for _, id := range ids {
			if _, err := s.Run(ctx, "", "sluice", "resize", fmt.Sprint(id), "--gpus", fmt.Sprint(1+round%2)); err != nil {
				return elastic.Price{}, err
			}
		}
		for _, id := range ids {
			if err := (&bench{Site: s.Site}).settled(ctx, id, 1+round%2, 0); err != nil {
				return elastic.Price{}, err
			}
		}
	}
	_, price, err := s.histories(ctx, ids)
	return price, err
}

// histories returns the GPUs of each job's runs, and the mean resize cost.
func (s *liveSite) histories(ctx context.Context, ids []int64) (sizes [][]int, mean elastic.Price, err error) {
	var sum wire.Price
	sizes = make([][]int, len(ids))
	for i, id := range ids {
		h, err := s.Control().History(ctx, elastic.JobID(id))
		if err != nil {
			return nil, mean, err
		}
		if len(h.Segments) == 0 {
			return nil, mean, fmt.Errorf("sluice history knows no run of job %d", id)
		}
		for _, seg := range h.Segments {
			sizes[i] = append(sizes[i], seg.GPUs)
			if p := seg.Price; p.Drain > 0 && p.Start > 0 && p.Load > 0 {
				sum.Save, sum.Drain, sum.Start, sum.Load = sum.Save+p.Save, sum.Drain+p.Drain, sum.Start+p.Start, sum.Load+p.Load
				sum.Measured++
			}
		}
	}
	if sum.Measured == 0 {
		return sizes, mean, nil
	}
	of := func(seconds float64) time.Duration {
		return time.Duration(seconds / float64(sum.Measured) * float64(time.Second)).Round(time.Millisecond)
	}
	return sizes, elastic.Price{Save: of(sum.Save), Drain: of(sum.Drain), Start: of(sum.Start), Load: of(sum.Load), Measured: sum.Measured}, nil
}

// measure runs the jobs for real.
func (l *live) measure(ctx context.Context, p policy.Policy, limit time.Duration) (measured, error) {
	var got measured
	err := l.onSite(ctx, p.Name, l.price, func(s *liveSite) error {
		submitted, ids, err := l.submitAll(ctx, s)
		if err != nil {
			return err
		}
		var ends map[int64]time.Time
		err = site.Until(ctx, limit, "all jobs to end", func() (bool, error) {
			time.Sleep(time.Second)
			ends, err = s.ends(ctx)
			return len(ends) == len(ids), err
		})
		if err != nil {
			return err
		}
		for i, id := range ids {
			jct := ends[id].Sub(submitted[i]).Seconds()
			got.jct += jct / float64(len(ids))
			got.jobs = append(got.jobs, story{jct: jct})
		}
		sizes, price, err := s.histories(ctx, ids)
		for i := range got.jobs {
			got.jobs[i].sizes = sizes[i]
			got.restarts += float64(len(sizes[i])-1) / float64(len(ids))
		}
		got.price = price
		return err
	})
	return got, err
}

// submitAll submits each job at its time and returns when that was.
func (l *live) submitAll(ctx context.Context, s *liveSite) (submitted []time.Time, ids []int64, err error) {
	began := time.Now()
	for j := range l.jobs.Jobs {
		select {
		case <-ctx.Done():
			return nil, nil, ctx.Err()
		case <-time.After(time.Until(began.Add(j.Submit))):
		}
		submitted = append(submitted, time.Now())
		id, err := s.submit(ctx, j)
		if err != nil {
			return nil, nil, err
		}
		ids = append(ids, id)
	}
	return submitted, ids, nil
}

// ends asks Slurm which jobs have ended, and when. A job that did not complete
// is an error.
func (s *liveSite) ends(ctx context.Context) (map[int64]time.Time, error) {
	out, err := s.Run(ctx, "", "env", "SLURM_TIME_FORMAT=%s", "squeue", "-h", "-t", "all", "-o", "%i %T %e %j")
	if err != nil {
		return nil, err
	}
	ends, failed, err := parseEnds(out)
	if err == nil && failed != "" {
		words, _ := os.ReadFile(s.Path("home", failed+".out"))
		err = fmt.Errorf("job %s did not complete; its output:\n%s", failed, words)
	}
	return ends, err
}

// parseEnds reads lines of "number state end name". failed names a job that did not
// complete.
func parseEnds(text string) (ends map[int64]time.Time, failed string, err error) {
	ends = map[int64]time.Time{}
	for _, line := range strings.Split(strings.TrimSpace(text), "\n") {
		f := strings.Fields(line)
		if len(f) != 4 {
			return nil, "", fmt.Errorf("squeue printed %q instead of number, state, end and name", line)
		}
		switch f[1] {
		case "COMPLETED":
		case "PENDING", "RUNNING", "COMPLETING", "CONFIGURING", "REQUEUED", "REQUEUE_HOLD":
			continue
		default:
			return nil, f[3], nil
		}
		id, err1 := strconv.ParseInt(f[0], 10, 64)
		end, err2 := strconv.ParseInt(f[2], 10, 64)
		if err := errors.Join(err1, err2); err != nil {
			return nil, "", fmt.Errorf("squeue printed %q: %w", line, err)
		}
		// Slurm truncates to seconds: half a second is missing on average.
		ends[id] = time.Unix(end, 0).Add(500 * time.Millisecond)
	}
	return ends, "", nil
}
