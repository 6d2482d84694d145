package policy

import "fmt"

// divided says why a division gave the job what it gave it.
func (r *round) divided(d division, i int) string {
	if r.said == nil {
		r.said = &words{round: r, idle: r.try(r.size, r.wants).after, gives: map[*pool]int{}}
	}
	w, j, n := r.said, &r.jobs[i], r.size[i]
	switch {
	case j.role == fixed:
		return j.still
	case j.role == waiting && n == 0 && j.pool.splits(j.least()) && w.unplaced(d, j) != "":
		return w.unplaced(d, j)
	case j.role == waiting && n == 0 && (!d.stops || !j.pool.splits(j.least())):
		return w.waits(i)
	case j.role == waiting && n == 0:
		return fmt.Sprintf("waits: %s", d.because(w, j))
	case j.pin > 0 && j.role == waiting:
		return w.starts(i)
	case j.pin > 0:
		return w.pinned(i)
	case j.role == waiting:
		return fmt.Sprintf("starts on %s: %s", gpus(n), d.because(w, j))
	case n == 0:
		return fmt.Sprintf("stops after a checkpoint and waits: %s", d.because(w, j))
	case n != j.now:
		return fmt.Sprintf("%s: its rest takes %s instead of %s; %s", change(j.now, n), j.time(j.seconds(n)), j.time(j.seconds(j.now)), d.because(w, j))
	case r.snap.Resting(&j.Job):
		return w.keeps(i)
	}
	return fmt.Sprintf("keeps %s: %s", gpus(n), d.because(w, j))
}

// unplaced is what the policy itself says of a job that waits; "" when it leaves that to others.
func (w *words) unplaced(d division, j *job) string {
	if d.waits == nil || j.blocked != nil && j.blocked != j {
		return ""
	}
	return d.waits(w, j)
}

// always is the same few words for every job.
func always(text string) func(*words, *job) string {
	return func(*words, *job) string { return text }
}
