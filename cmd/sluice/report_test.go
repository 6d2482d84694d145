package main

import (
	"bytes"
	"encoding/csv"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/sluice-hpc/sluice/elastic/control/wire"
)

// TestCellsAreNoFormulas: a name that a user chose is text to a spreadsheet.
func TestCellsAreNoFormulas(t *testing.T) {
	for name, want := range map[string]string{
		"": "", "-": "-", "phys": "phys", "(none)": "(none)", "a=1": "a=1", "it's": "it's",
		"=1+1": "'=1+1", "+1": "'+1", "-1": "'-1", "@SUM(A1)": "'@SUM(A1)", "=cmd|' /C calc'!A0": "'=cmd|' /C calc'!A0",
	} {
		if got := inert(name); got != want {
			t.Errorf("%q becomes %q, want %q", name, got, want)
		}
	}
	for _, name := range []string{"\t=1", "\r=1", "\x1b[31m"} {
		if got := inert(name); strings.ContainsAny(got, "\t\r\x1b") || strings.HasPrefix(got, "=") {
			t.Errorf("%q becomes %q", name, got)
		}
	}
}

// TestReportCSV: what is written is read back, whatever the names; the total is marked as such,
// also where a user is called total.
func TestReportCSV(t *testing.T) {
	u := wire.Usage{By: "user", From: time.Unix(0, 0), To: time.Unix(60, 0), Further: 2, Others: &wire.UsageRow{Moves: 4}, Total: wire.UsageRow{Moves: 9}}
	names := []string{"total", `a "b"`, "c,d", "=e"}
	for _, name := range names {
		u.Rows = append(u.Rows, wire.UsageRow{Name: name, Moves: 1, GPUHours: 1.0 / 3})
	}
	var out bytes.Buffer
	if err := reportCSV(&out, u, false); err != nil {
		t.Fatal(err)
	}
	got, err := csv.NewReader(&out).ReadAll()
	if err != nil || len(got) != 7 {
		t.Fatalf("%v, %q", err, got)
	}
	for i, want := range [][]string{{"user", "total"}, {"user", `a "b"`}, {"user", "c,d"}, {"user", "'=e"}, {"others", "2"}, {"total", ""}} {
		if row := got[i+1]; row[0] != want[0] || row[1] != want[1] || row[3] != "1970-01-01T00:01:00Z" || len(row) != len(got[0]) {
			t.Errorf("row %d: %q", i, row)
		}
	}
	if got[1][7] != "0.333333" {
		t.Errorf("a third of an hour is %s", got[1][7])
	}
}

// TestReportFits: the table fits 80 columns with long names and large figures.
func TestReportFits(t *testing.T) {
	big := wire.UsageRow{Name: strings.Repeat("n", 60), Ended: 9999, Running: 99, GPUHours: 99999, Beyond: 99999, FirstRuns: 1, WaitMedian: 5999,
		WaitLongest: 90 * 86400, Moves: 9999, DeadHours: 999, LostHours: 999, Promised: 99, Kept: 98}
	u := wire.Usage{By: "account", Rows: []wire.UsageRow{big, {Name: "-"}}, Others: &wire.UsageRow{}, Further: 12, Total: big}
	var out bytes.Buffer
	if err := reportTable(&out, u, false); err != nil {
		t.Fatal(err)
	}
	for line := range strings.SplitSeq(out.String(), "\n") {
		if n := utf8.RuneCountInString(line); n > 80 {
			t.Errorf("%d columns: %s", n, line)
		}
	}
	for _, want := range []string{"(others)", "9999+99", "99999", "100m", "90.0d", "98/99"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("without %s:\n%s", want, out.String())
		}
	}
}

// TestHours: at most two decimals, and what is not nothing does not look like it.
func TestHours(t *testing.T) {
	for h, want := range map[float64]string{0: "0", 0.0001: "<0.01", 0.005: "0.01", 1.234: "1.23", 12.34: "12.3", 123.4: "123", 123456: "123456"} {
		if got := hours(h); got != want {
			t.Errorf("%v: %s, want %s", h, got, want)
		}
	}
}

// TestWaited: a wait has two or three digits.
func TestWaited(t *testing.T) {
	for seconds, want := range map[float64]string{0: "0s", 99: "99s", 100: "2m", 5900: "98m", 6000: "1.7h", 47 * 3600: "47.0h", 48 * 3600: "2.0d"} {
		if got := waited(wire.UsageRow{FirstRuns: 1}, seconds); got != want {
			t.Errorf("%v s: %s, want %s", seconds, got, want)
		}
	}
}
