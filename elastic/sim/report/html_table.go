package report

import (
	"fmt"
	"html/template"

	"github.com/sluice-hpc/sluice/elastic/draw"
)

// pageTable is a table of figures on the page.
type pageTable struct {
	Groups []pageGroup
	Rows   []pageRow
}

// pageGroup is some columns under one head.
type pageGroup struct {
	Head    string
	Columns []string
}

type pageRow struct {
	Policy, Class, Seed string
	Cells               []pageCell
}

type pageCell struct {
	Text  string
	Best  bool
	First bool         // of its group
	Bar   template.CSS // its share of the greatest, for a bar behind the figure
}

// pageColumn is one column of figures.
type pageColumn struct {
	group, head string
	cell        func(row) string
	value       func(row) float64 // of which the least is best; nil = none is
	bar         bool
}

// pageColumns are in order; those of a group are neighbours.
var pageColumns = []pageColumn{
	{"JCT, s", "mean", func(r row) string { return r.MeanJCT.String() }, func(r row) float64 { return float64(r.MeanJCT) }, true},
	{"JCT, s", "vs first", func(r row) string { return versus(r.MeanJCT, r.vs.MeanJCT) }, nil, false},
	{"JCT, s", "p50", func(r row) string { return r.P50JCT.String() }, func(r row) float64 { return float64(r.P50JCT) }, false},
	{"JCT, s", "p99", func(r row) string { return r.P99JCT.String() }, func(r row) float64 { return float64(r.P99JCT) }, false},
	{"makespan, s", "all jobs", func(r row) string { return r.Makespan.String() }, func(r row) float64 { return float64(r.Makespan) }, false},
	{"makespan, s", "vs first", func(r row) string { return versus(r.Makespan, r.vs.Makespan) }, nil, false},
	{"wait for a GPU, s", "mean", func(r row) string { return r.MeanWait.String() }, func(r row) float64 { return float64(r.MeanWait) }, false},
	{"wait for a GPU, s", "longest", func(r row) string { return r.MaxWait.String() }, func(r row) float64 { return float64(r.MaxWait) }, false},
	{"restarts", "a job", func(r row) string { return r.Restarts.String() }, nil, false},
	{"GPU-hours", "useful", func(r row) string { return r.Useful.String() }, nil, false},
	{"GPU-hours", "restarting", func(r row) string { return r.Restarting.String() }, nil, false},
	{"GPU-hours", "idle", func(r row) string { return r.Idle.String() }, nil, false},
	{"deadlines", "met", func(r row) string { return orDash(r.DeadlineMet) }, nil, false},
	{"no policy beats", "mean JCT, s", func(r row) string { return orDash(r.Bound) }, nil, false},
	{"no policy beats", "ratio to it", func(r row) string { return orDash(r.ToBound) }, nil, false},
	{"decision, ms", "p50", func(r row) string { return orDash(r.DecisionP50) }, nil, false},
	{"decision, ms", "p99", func(r row) string { return orDash(r.DecisionP99) }, nil, false},
	{"decision, ms", "longest", func(r row) string { return orDash(r.DecisionMax) }, nil, false},
}

// figures makes the table of the rows; columns that no row has are left out.
func figures(rows []row, seeds bool) pageTable {
	var t pageTable
	for i, r := range rows {
		line := pageRow{Policy: draw.Printable(r.Policy), Class: colour(i)}
		if seeds {
			line.Class, line.Seed = "", fmt.Sprint(r.Seed)
		}
		t.Rows = append(t.Rows, line)
	}
	for _, c := range pageColumns {
		any := false
		for _, r := range rows {
			any = any || c.cell(r) != "-"
		}
		if !any {
			continue
		}
		n := len(t.Groups)
		first := n == 0 || t.Groups[n-1].Head != c.group
		if first {
			t.Groups = append(t.Groups, pageGroup{Head: c.group})
			n++
		}
		t.Groups[n-1].Columns = append(t.Groups[n-1].Columns, c.head)
		for i, cell := range c.cells(rows, seeds) {
			cell.First = first
			t.Rows[i].Cells = append(t.Rows[i].Cells, cell)
		}
	}
	return t
}

// cells are a column's, the best marked.
func (c pageColumn) cells(rows []row, plain bool) []pageCell {
	out := make([]pageCell, len(rows))
	for i, r := range rows {
		out[i].Text = c.cell(r)
	}
	if c.value == nil || plain {
		return out
	}
	least, most, best := c.value(rows[0]), 0.0, 0
	for _, r := range rows {
		least, most = min(least, c.value(r)), max(most, c.value(r))
	}
	for _, r := range rows {
		if c.value(r) == least {
			best++
		}
	}
	for i, r := range rows {
		out[i].Best = c.value(r) == least && 2*best <= len(rows) // what most reach is no distinction
		if c.bar && most > 0 {
			out[i].Bar = template.CSS(fmt.Sprintf("--share:%.1f%%", 100*c.value(r)/most))
		}
	}
	return out
}
