package report

import (
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/sluice-hpc/sluice/elastic/draw"
)

// tableColumn is one figure of a table.
type tableColumn struct {
	head string
	cell func(row) string
}

// tableColumns are the figures of a table, in order. Those that no row has are
// left out.
var tableColumns = []tableColumn{
	{"POLICY", func(r row) string { return draw.Printable(r.Policy) }},
	{"MEAN_JCT", func(r row) string { return r.MeanJCT.String() }},
	{"VS_FIRST", func(r row) string { return versus(r.MeanJCT, r.vs.MeanJCT) }},
	{"P50_JCT", func(r row) string { return r.P50JCT.String() }},
	{"P99_JCT", func(r row) string { return r.P99JCT.String() }},
	{"MAKESPAN", func(r row) string { return r.Makespan.String() }},
	{"VS_FIRST", func(r row) string { return versus(r.Makespan, r.vs.Makespan) }},
	{"MEAN_WAIT", func(r row) string { return r.MeanWait.String() }},
	{"MAX_WAIT", func(r row) string { return r.MaxWait.String() }},
	{"RESTARTS", func(r row) string { return r.Restarts.String() }},
	{"USEFUL_H", func(r row) string { return r.Useful.String() }},
	{"RESTART_H", func(r row) string { return r.Restarting.String() }},
	{"IDLE_H", func(r row) string { return r.Idle.String() }},
	{"IN_TIME", func(r row) string { return orDash(r.DeadlineMet) }},
	{"BOUND", func(r row) string { return orDash(r.Bound) }},
	{"VS_BOUND", func(r row) string { return orDash(r.ToBound) }},
	{"DECIDE_P50", func(r row) string { return orDash(r.DecisionP50) }},
	{"DECIDE_P99", func(r row) string { return orDash(r.DecisionP99) }},
	{"DECIDE_MAX", func(r row) string { return orDash(r.DecisionMax) }},
}

// WriteTable writes one block a workload: what was run, then one row a policy with
// the mean over its seeds. Times are seconds, decisions milliseconds, and VS_FIRST
// the figure before it over the first policy's. With shares one row for each policy and account
// follows, with sweeps one for each policy and sweep.
func WriteTable(w io.Writer, runs []Run) error {
	var b strings.Builder
	for i, bl := range blocks(runs) {
		if i > 0 {
			b.WriteByte('\n')
		}
		b.WriteString(bl.title() + "\n")
		if bl.note != "" {
			b.WriteString(draw.Printable(bl.note) + "\n")
		}
		b.WriteString("rules: " + limits(bl.rows[0].Summary) + "\n")
		b.WriteString(bl.warning())
		writeRows(&b, bl.rows)
		writeAccounts(&b, bl.rows)
		writeSweeps(&b, bl.rows)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// title says in one line what was run.
func (b block) title() string {
	r := b.rows[0]
	parts := []string{draw.Printable(b.name), draw.Count(r.Jobs, "job")}
	if r.Cluster != "" {
		parts = append(parts, draw.Printable(r.Cluster)+" GPUs")
	}
	parts = append(parts, string(r.Info), "every "+brief(r.Interval), "restart "+r.costs())
	if len(r.seeds) > 1 {
		parts = append(parts, fmt.Sprintf("mean of %d seeds", len(r.seeds)))
	} else {
		parts = append(parts, fmt.Sprintf("seed %d", r.Seed))
	}
	return strings.Join(parts, ", ")
}

// warning names the policies whose figures are not those of their publications; "" = none.
func (b block) warning() string {
	var names []string
	for _, r := range b.rows {
		if r.OtherRules {
			names = append(names, draw.Printable(r.Policy))
		}
	}
	if len(names) == 0 {
		return ""
	}
	return "warning: " + strings.Join(names, ", ") + ": published with other rules, which let a policy stop started jobs and place them at will; " +
		"these figures are not the published ones; the other rules: --preempt --placing published\n"
}

func writeRows(b *strings.Builder, rows []row) {
	var lines [][]string
	head := []string{}
	for _, c := range tableColumns {
		cells := make([]string, len(rows))
		any := false
		for i, r := range rows {
			cells[i] = c.cell(r)
			any = any || cells[i] != "-"
		}
		if any {
			head = append(head, c.head)
			lines = append(lines, cells)
		}
	}
	for line := -1; line < len(rows); line++ {
		text := ""
		for k, column := range lines {
			cell := head[k]
			if line >= 0 {
				cell = column[line]
			}
			text += pad(cell, widest(head[k], column), k > 0)
		}
		b.WriteString(strings.TrimRight(text, " ") + "\n")
	}
}

func widest(head string, cells []string) int {
	n := utf8.RuneCountInString(head)
	for _, c := range cells {
		n = max(n, utf8.RuneCountInString(c))
	}
	return n
}

// pad fills a cell; figures stand right, two spaces from what is before them.
func pad(cell string, width int, right bool) string {
	fill := strings.Repeat(" ", width-utf8.RuneCountInString(cell))
	if right {
		return "  " + fill + cell
	}
	return cell + fill
}

// orDash writes a figure that may be missing.
func orDash[F fmt.Stringer](f *F) string {
	if f == nil {
		return "-"
	}
	return (*f).String()
}
