package saved

import (
	"cmp"
	"math"
	"slices"
)

// task is a job of fixed size. Times are in seconds.
type task struct {
	submitted, lasts float64
	gpus             int
}

// busy is a task that runs.
type busy struct {
	ends float64
	gpus int
}

// queue runs tasks, in the order of submission, on so many GPUs, first come first served with EASY
// backfill: a later task starts early if it delays the first one that waits by nothing. Nodes are
// left out, which favours fixed sizes. Run times are taken as known. A task that needs more GPUs than
// there are never starts, and neither do those behind it.
func queue(tasks []task, gpus int) (f Figures) {
	var running []busy // by end
	var waiting []task
	free, now, next := gpus, 0.0, 0
	start := func(t task) {
		b := busy{now + t.lasts, t.gpus}
		at, _ := slices.BinarySearchFunc(running, b, func(a, b busy) int { return cmp.Compare(a.ends, b.ends) })
		running = slices.Insert(running, at, b)
		free -= t.gpus
		f.Wait += (now - t.submitted) / 3600
		f.Done += (b.ends - t.submitted) / 3600
		f.GPUHours += t.lasts * float64(t.gpus) / 3600
	}
	for next < len(tasks) || len(waiting) > 0 {
		at := math.Inf(1)
		if next < len(tasks) {
			at = tasks[next].submitted
		}
		if len(running) > 0 {
			at = min(at, running[0].ends)
		}
		if !(at < math.Inf(1)) {
			return f // what still waits needs more GPUs than there are, or a run does not end
		}
		now = max(now, at)
		for len(running) > 0 && running[0].ends <= now {
			free += running[0].gpus
			running = running[1:]
		}
		for next < len(tasks) && tasks[next].submitted <= now {
			waiting = append(waiting, tasks[next])
			next++
		}
		for len(waiting) > 0 && waiting[0].gpus <= free {
			start(waiting[0])
			waiting = waiting[1:]
		}
		if len(waiting) < 2 || free == 0 {
			continue
		}
		shadow, extra := reserve(running, waiting[0].gpus, free)
		rest := waiting[:1]
		for _, t := range waiting[1:] {
			ends := now+t.lasts <= shadow
			if t.gpus > free || !ends && t.gpus > extra {
				rest = append(rest, t)
				continue
			}
			if !ends {
				extra -= t.gpus
			}
			start(t)
		}
		waiting = rest
	}
	return f
}

// reserve returns when so many GPUs will be free, and how many beyond that then.
func reserve(running []busy, wants, free int) (at float64, extra int) {
	for _, b := range running {
		if free >= wants {
			break
		}
		free += b.gpus
		at = b.ends
	}
	return at, free - wants
}
