package workload

import (
	"cmp"
	"slices"
	"strconv"
	"time"
)

// Bounds on lines that cannot be read. Above both the file is not what it should be.
const (
	badLines = 10 // so many are always skipped
	badShare = 10 // and one line in so many
	badShown = 3  // so many are named
)

// idReuse is how long after the end of a run its job can be requeued: Slurm forgets an
// ended job after MinJobAge (300 s by default). A job that has the same id later is another
// one, after the ids were reset.
const idReuse = time.Hour

// record is what tells the lines of accounts apart. A requeue keeps the job id and sets the
// submit to its own time.
type record struct {
	id     string
	submit time.Time
}

func (r dated) record() record { return record{r.ID, r.said} }

// keep takes a finished run in. Accounts of overlapping times have a line twice; the one
// that ends later knows more.
func (d *sacctReader) keep(r dated) error {
	before, twice := d.runs[r.record()]
	switch {
	case twice && !r.end.After(before.end):
		d.skipped[SkipRepeated]++
		return nil
	case twice:
		d.skipped[SkipRepeated]++
	case len(d.runs) == MaxJobs:
		return d.in.fail(1, "more than %d runs; replay a shorter time", MaxJobs)
	}
	d.runs[r.record()] = r
	return nil
}

// inOrder lists the runs in order of the submit that their lines name, then of the lines.
func (d *sacctReader) inOrder() []dated {
	out := make([]dated, 0, len(d.runs))
	for _, r := range d.runs {
		out = append(out, r)
	}
	slices.SortFunc(out, func(a, b dated) int { return cmp.Or(a.said.Compare(b.said), cmp.Compare(a.line, b.line)) })
	return out
}

// joined makes one run of the runs of each job, and counts in the history what it joined.
// Jobs that only share their id get "#2", "#3" and so on behind it.
func joined(runs []dated, h *History) []dated {
	var chains []*chain
	last, jobs := map[string]*chain{}, map[string]int{}
	for _, r := range runs {
		if c := last[r.ID]; c != nil && c.goesOn(r) {
			c.runs = append(c.runs, r)
			c.end = later(c.end, r.end)
			continue
		}
		jobs[r.ID]++
		c := &chain{id: r.ID, runs: []dated{r}, end: r.end}
		if n := jobs[r.ID]; n > 1 {
			c.id += "#" + strconv.Itoa(n)
		}
		last[r.ID], chains = c, append(chains, c)
	}
	out := make([]dated, len(chains))
	for i, c := range chains {
		out[i] = asOne(c.runs)
		out[i].ID = c.id
		if len(c.runs) > 1 {
			h.Requeued++
			h.Joined += len(c.runs)
		}
	}
	return out
}

// chain is the runs of one job.
type chain struct {
	id   string
	runs []dated
	end  time.Time // of the last one
}

// goesOn reports whether a later run with the job's id is of the same job.
func (c *chain) goesOn(next dated) bool {
	first := c.runs[0]
	return first.User == next.User && !next.said.Before(first.start) && next.said.Sub(c.end) <= idReuse
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// asOne is a job with the GPU time of all its runs, on as many GPUs as it had longest. That
// every run went on where the one before it stopped is an assumption.
func asOne(runs []dated) dated {
	one, work := runs[0], 0.0
	longest := one.Took
	for _, r := range runs {
		if r.Took > longest {
			longest = r.Took
			one.GPUs, one.Nodes, one.kind = r.GPUs, r.Nodes, r.kind
		}
		one.end = later(one.end, r.end)
		one.state = r.state
		work += r.Took.Seconds() * float64(r.GPUs)
	}
	one.Took = max(longest, time.Duration(work/float64(one.GPUs)*float64(time.Second)).Round(time.Second))
	return one
}
