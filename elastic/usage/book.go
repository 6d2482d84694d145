package usage

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/sluice-hpc/sluice/elastic/engine/journal"
)

// By is what a report has one row for.
type By string

// What reports are by.
const (
	Account By = "account"
	User    By = "user"
	Model   By = "model"
)

// Bys are all of them.
var Bys = []By{Account, User, Model}

// Names of rows without a name. No account, user or model is called so.
const (
	None    = "(none)" // Slurm has no accounts, or the job no model
	Unknown = "-"      // the job's record is older than the release that stores accounts
)

// nameOf returns the row that a job counts in. It is the job's present account and model, or its
// last ones, for all of its hours. A user whose name is not known is "uid N".
func (by By) nameOf(job journal.JobRecord) string {
	switch by {
	case User:
		return cmp.Or(job.Owner.User, fmt.Sprintf("uid %d", job.Owner.UID))
	case Model:
		return cmp.Or(job.Tag.Spec.Model, None)
	}
	if !job.Account.Known {
		return Unknown
	}
	return cmp.Or(job.Account.Name, None)
}

// Row is one row of a report.
type Row struct {
	Name string
	Figures
	// Waits of jobs that first ran in the range, from submission to first run; zero if there are
	// none.
	Median, Longest time.Duration
}

// Report is what jobs used in a range. Rows have the most GPU-seconds first, then names in order.
// Total and Others are rows of their own: their median and longest wait are of all their jobs
// together, not of the medians of rows.
type Report struct {
	Rows  []Row
	Total Row // its Name is ""
	// Others is all rows beyond the limit together, and Further their number, 0 = none.
	Others  Row
	Further int
}

// Book adds up jobs; see NewBook.
type Book struct {
	by    By
	in    Range
	rows  map[string]*tally
	total tally
}

// tally is a row that jobs are added to.
type tally struct {
	Figures
	waits []time.Duration
}

// add keeps every wait: a median needs them all.
func (t *tally) add(f Figures, waits ...time.Duration) {
	t.Figures = t.plus(f)
	t.waits = append(t.waits, waits...)
}

// NewBook returns an empty book.
func NewBook(by By, in Range) *Book { return &Book{by: by, in: in, rows: map[string]*tally{}} }

// Add adds one job. Its runs MUST be in order. A job that has no figure in the range makes no row.
// job and runs are not kept.
func (b *Book) Add(job journal.JobRecord, runs []journal.Segment) {
	f := Of(job, runs, b.in)
	if f == (Figures{}) {
		return
	}
	name := b.by.nameOf(job)
	row := b.rows[name]
	if row == nil {
		row = &tally{}
		b.rows[name] = row
	}
	var waits []time.Duration
	if f.FirstRuns > 0 && !job.Submitted.IsZero() {
		waits = []time.Duration{max(0, job.FirstRun.Sub(job.Submitted))}
	}
	row.add(f, waits...)
	b.total.add(f, waits...)
}

// Report returns the report with at most limit rows, which MUST be at least 1. It may be called
// again, also after more jobs were added. Others is the zero Row if there are at most limit rows.
func (b *Book) Report(limit int) Report {
	names := make([]string, 0, len(b.rows))
	for name := range b.rows {
		names = append(names, name)
	}
	slices.SortFunc(names, func(x, y string) int {
		return cmp.Or(cmp.Compare(b.rows[y].GPUSeconds, b.rows[x].GPUSeconds), cmp.Compare(x, y))
	})
	out := Report{Total: b.total.row("")}
	for _, name := range names[:min(limit, len(names))] {
		out.Rows = append(out.Rows, b.rows[name].row(name))
	}
	var others tally
	for _, name := range names[min(limit, len(names)):] {
		others.add(b.rows[name].Figures, b.rows[name].waits...)
		out.Further++
	}
	out.Others = others.row("")
	return out
}

// row is the tally with the median and the longest of its waits, which it sorts. Of an even number
// the median is the mean of the two in the middle.
func (t *tally) row(name string) Row {
	out := Row{Name: name, Figures: t.Figures}
	if n := len(t.waits); n > 0 {
		slices.Sort(t.waits)
		out.Median, out.Longest = (t.waits[(n-1)/2]+t.waits[n/2])/2, t.waits[n-1]
	}
	return out
}
