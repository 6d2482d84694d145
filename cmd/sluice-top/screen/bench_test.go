package screen

import (
	"fmt"
	"testing"

	tea "charm.land/bubbletea/v2"

	"github.com/sluice-hpc/sluice/elastic/control/controltest"
	"github.com/sluice-hpc/sluice/elastic/control/wire"
)

// BenchmarkFrame draws 5,000 jobs, a key each.
func BenchmarkFrame(b *testing.B) {
	m, err := New(Options{Colour: true})
	if err != nil {
		b.Fatal(err)
	}
	var r wire.Report
	for i := range 5000 {
		r.Jobs = append(r.Jobs, wire.Job{JobID: int64(i), Name: fmt.Sprintf("train-%d", i), User: "ann", ST: "PD", State: "PENDING", Min: 1, Max: 8, Total: 90, Reason: "waiting for 2 GPUs: all 12 GPUs are in use"})
	}
	m = sent(m, tea.WindowSizeMsg{Width: 200, Height: 60}, ReportMsg{Report: r, At: controltest.Now})
	for b.Loop() {
		m = sent(m, keys("down")...)
		_ = m.View()
	}
}

// TestManyJobs: at each place of a long list the lines are those of its jobs.
func TestManyJobs(t *testing.T) {
	m, err := New(Options{})
	if err != nil {
		t.Fatal(err)
	}
	var r wire.Report
	for i := range 2000 {
		r.Jobs = append(r.Jobs, wire.Job{JobID: int64(100_000 + i), ST: "PD", State: "PENDING"})
	}
	m = sent(m, tea.WindowSizeMsg{Width: 80, Height: 24}, ReportMsg{Report: r, At: controltest.Now})
	for _, word := range []string{"home", "pgdown", "end", "pgup", "up"} {
		m = sent(m, keys(word)...)
		c, line := m.cursors[jobsTab], 3
		if got, want := m.Frame()[line+c.at-c.top][:6], fmt.Sprint(100_000+c.at); got != want {
			t.Errorf("%s: the chosen line is %q, want %s", word, got, want)
		}
		checkFrame(t, m)
	}
}
