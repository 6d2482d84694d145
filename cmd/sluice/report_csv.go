package main

import (
	"encoding/csv"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/sluice-hpc/sluice/cmd/terminal"
	"github.com/sluice-hpc/sluice/elastic/control/wire"
)

// reportCSV writes the report as RFC 4180, with lines as Unix ends them. The first column says what
// a row is of: account, user or model, "others" or "total".
func reportCSV(w io.Writer, u wire.Usage, noHeader bool) error {
	out := csv.NewWriter(w)
	if !noHeader {
		_ = out.Write([]string{"row", "name", "from", "to", "jobs_ended", "jobs_running", "jobs_waiting", "gpu_hours", "gpu_hours_beyond_minimum",
			"jobs_first_run", "wait_median_seconds", "wait_longest_seconds", "moves", "dead_gpu_hours", "lost_job_hours", "deadlines_promised", "deadlines_kept"})
	}
	number := func(x float64) string { return strconv.FormatFloat(x, 'f', 6, 64) }
	write := func(what, name string, r wire.UsageRow) {
		_ = out.Write([]string{what, inert(name), u.From.UTC().Format(time.RFC3339), u.To.UTC().Format(time.RFC3339),
			strconv.Itoa(r.Ended), strconv.Itoa(r.Running), strconv.Itoa(r.Waiting), number(r.GPUHours), number(r.Beyond),
			strconv.Itoa(r.FirstRuns), number(r.WaitMedian), number(r.WaitLongest), strconv.Itoa(r.Moves), number(r.DeadHours), number(r.LostHours),
			strconv.Itoa(r.Promised), strconv.Itoa(r.Kept)})
	}
	for _, r := range u.Rows {
		write(u.By, r.Name, r)
	}
	if u.Others != nil {
		write("others", fmt.Sprint(u.Further), *u.Others)
	}
	write("total", "", u.Total)
	out.Flush()
	return out.Error()
}

// inert returns a cell that spreadsheets show and do not calculate: a leading = + - @, a tab or a
// carriage return begins a formula there, and an apostrophe before it makes it text (OWASP, CSV
// Injection). A single character is no formula.
func inert(name string) string {
	name = terminal.Escape(name)
	if len(name) > 1 && strings.ContainsRune("=+-@\t\r", rune(name[0])) {
		return "'" + name
	}
	return name
}
