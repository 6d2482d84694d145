package workload

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"
)

// SacctCommand prints what ReadHistory reads, for one month. -D prints all runs of a
// requeued job rather than its last one. -X leaves the steps out, which makes it ten
// times as short.
const SacctCommand = "sacct -a -D -X -P -S 2026-01-01 -E 2026-02-01 " +
	"--format=JobID,User,Account,Partition,Submit,Eligible,Start,End,Elapsed,State,NNodes,AllocTRES"

// History is what a cluster really did, by its own accounts.
type History struct {
	Name  string    // of the file
	First time.Time // the first submit; local time of the cluster, called UTC
	// Runs are the finished runs on GPUs, in order of submit. The runs of a requeued job
	// are joined to one.
	Runs []Run
	// Requeued counts the Runs that were joined from several, Joined the lines they were
	// joined from. Both are 0 when every job has one line, as without sacct's -D.
	Requeued, Joined int
	// Unreadable are the first lines that were skipped because they cannot be read, as
	// errors that name file, line and column. Skipped has their number.
	Unreadable []string
	States     []Count // of Runs, by Slurm's state, most frequent first
	Skipped    []Count // lines that are not among Runs, by reason; none with 0
	Types      []Count // of Runs, by GPU type, where types are named
	// PeakGPUs is the most GPUs that were in use at one time, by Runs and by what
	// was still running; PerNode the most that a run had on a node, MostNodes the
	// most nodes that a run had. They tell how large the cluster is at least.
	PeakGPUs, PerNode, MostNodes int
}

// Run is one run of one job. The times are after History.First.
type Run struct {
	ID        string // JobID as sacct writes it; "#2" follows that of a second run
	User      string
	Account   string // "" = the file does not name it
	Partition string
	// Submit is when the job could have run: its submit, or later when it was held
	// by a dependency or its begin time.
	Submit, Start, End time.Duration
	// Took is the time really run, without time suspended; above 0. Runs that were joined
	// add up, those on other numbers of GPUs in proportion.
	Took  time.Duration
	GPUs  int // at least 1
	Nodes int // with GPUs; at least 1, at most GPUs
}

// JCT is the time from submit to end.
func (r Run) JCT() time.Duration { return r.End - r.Submit }

// Wait is the time from submit to start.
func (r Run) Wait() time.Duration { return r.Start - r.Submit }

// Count is how many of a kind there are.
type Count struct {
	What string `json:"what"`
	N    int    `json:"count"`
}

// The reasons for which lines of accounts are not replayed, in the order in which
// they are looked for.
const (
	SkipStep      = "steps of jobs"
	SkipPartition = "in other partitions"
	SkipNoGPU     = "without GPUs"
	SkipUnstarted = "never started"
	SkipRunning   = "not finished"
	SkipInstant   = "ended within a second"
	SkipRepeated  = "printed twice"
	SkipBad       = "lines that cannot be read"
)

var skipReasons = []string{SkipStep, SkipPartition, SkipNoGPU, SkipUnstarted, SkipRunning, SkipInstant, SkipRepeated, SkipBad}

// ReadSacct reads the accounts of a cluster, as SacctCommand prints them, and
// makes the workload that they are under the assumption. It is ReadHistory and
// History.Workload in one.
func ReadSacct(path string, a Assumption) (Workload, History, error) {
	h, err := ReadHistory(path, nil)
	if err != nil {
		return Workload{}, h, err
	}
	w, err := h.Workload(a)
	return w, h, err
}

// ReadHistory reads the output of "sacct -P", of the partitions named or of all.
// Columns may come in any order, and more than are needed. A line that cannot be read is
// skipped and counted; the error, also that of too many such lines, names file, line,
// column and what to type.
func ReadHistory(path string, partitions []string) (History, error) {
	f, err := os.Open(path)
	if err != nil {
		return History{}, err
	}
	defer f.Close()
	return DecodeHistory(f, path, partitions)
}

// DecodeHistory is ReadHistory of a stream; name is what errors call it. It reads
// at most 4 GiB, lines of at most 1 MiB and MaxJobs runs.
func DecodeHistory(r io.Reader, name string, partitions []string) (History, error) {
	d := &sacctReader{
		in: newLines(r, name), partitions: partitions, pools: newPools(), runs: map[record]dated{}, open: map[record]dated{},
		skipped: map[string]int{},
	}
	if err := d.header(); err != nil {
		return History{}, err
	}
	for {
		line, err := d.in.next()
		if err == io.EOF {
			break
		}
		if err == nil {
			err = d.line(string(line))
		}
		if err != nil {
			return History{}, err
		}
	}
	return d.result(name)
}

// result is the history, or why it cannot be told from the lines.
func (d *sacctReader) result(name string) (History, error) {
	h, lines, bad := d.history(name), d.in.n-1, d.skipped[SkipBad]
	switch {
	case bad > badLines && bad*badShare > lines:
		return h, fmt.Errorf("%s: %d of %d lines cannot be read, which is too many to trust the others; the first is\n%s", name, bad, lines, d.bad[0])
	case len(d.runs) == 0 && bad > 0:
		return h, d.in.fail(1, "no finished run on GPUs among %d lines%s; the first that cannot be read is\n%s", lines, d.why(h), d.bad[0])
	case len(d.runs) == 0:
		return h, d.in.fail(1, "no finished run on GPUs among %d lines%s; print them with\n%s", lines, d.why(h), SacctCommand)
	}
	return h, nil
}

// sacctReader reads one file.
type sacctReader struct {
	in         *lines
	partitions []string
	columns    columns
	pools      pools
	runs       map[record]dated
	open       map[record]dated // started, and not finished
	skipped    map[string]int
	bad        []string // the first lines that cannot be read
}

// dated is a run with its times as the file has them.
type dated struct {
	Run
	line               int       // of the file
	said               time.Time // the submit that the line names
	submit, start, end time.Time
	state, kind        string
}

// history sums up what was read.
func (d *sacctReader) history(name string) History {
	h := History{Name: name, Unreadable: d.bad}
	for _, reason := range skipReasons {
		if n := d.skipped[reason]; n > 0 {
			h.Skipped = append(h.Skipped, Count{reason, n})
		}
	}
	if len(d.runs) == 0 {
		return h
	}
	single := d.inOrder()
	h.PeakGPUs = d.peak(single)
	states, types := map[string]int{}, map[string]int{}
	jobs := joined(single, &h)
	slices.SortStableFunc(jobs, func(a, b dated) int { return a.submit.Compare(b.submit) })
	h.First = jobs[0].submit
	for _, r := range jobs {
		r.Submit, r.Start, r.End = r.submit.Sub(h.First), r.start.Sub(h.First), r.end.Sub(h.First)
		h.Runs = append(h.Runs, r.Run)
		states[r.state]++
		if r.kind != "" {
			types[r.kind]++
		}
	}
	for _, r := range single {
		h.PerNode = max(h.PerNode, (r.GPUs+r.Nodes-1)/r.Nodes)
		h.MostNodes = max(h.MostNodes, r.Nodes)
	}
	h.States, h.Types = byNumber(states), byNumber(types)
	return h
}

// why lists what was skipped: ": never started (3), not finished (2)".
func (d *sacctReader) why(h History) string {
	var parts []string
	for _, c := range h.Skipped {
		parts = append(parts, fmt.Sprintf("%s (%d)", c.What, c.N))
	}
	if len(parts) == 0 {
		return ""
	}
	return ": " + strings.Join(parts, ", ")
}

// byNumber lists what was counted, most frequent first.
func byNumber(counts map[string]int) []Count {
	var out []Count
	for what, n := range counts {
		out = append(out, Count{what, n})
	}
	slices.SortFunc(out, func(a, b Count) int {
		return cmp.Or(cmp.Compare(b.N, a.N), cmp.Compare(a.What, b.What))
	})
	return out
}

// peak returns the most GPUs in use at one time. What was still running counts up
// to the last moment the file knows.
func (d *sacctReader) peak(runs []dated) int {
	type step struct {
		at   time.Time
		gpus int
	}
	var steps []step
	for _, r := range runs {
		steps = append(steps, step{r.start, r.GPUs}, step{r.end, -r.GPUs})
	}
	for at, r := range d.open {
		if _, ended := d.runs[at]; !ended {
			steps = append(steps, step{r.start, r.GPUs})
		}
	}
	slices.SortFunc(steps, func(a, b step) int {
		return cmp.Or(a.at.Compare(b.at), cmp.Compare(a.gpus, b.gpus)) // ends before starts
	})
	now, most := 0, 0
	for _, s := range steps {
		now += s.gpus
		most = max(most, now)
	}
	return most
}

// Cluster returns the smallest cluster of equal nodes that the history can have
// come from, as far as it shows: nodes, and GPUs on each.
func (h History) Cluster() (nodes, perNode int) {
	perNode = max(h.PerNode, 1)
	return max(h.MostNodes, (h.PeakGPUs+perNode-1)/perNode, 1), perNode
}
