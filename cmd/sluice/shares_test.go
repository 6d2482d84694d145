package main

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/sluice-hpc/sluice/cmd/terminal"
	"github.com/sluice-hpc/sluice/elastic/control/wire"
)

// TestSharesCSVIsInert: names that spreadsheets would calculate are text, as in a report.
func TestSharesCSVIsInert(t *testing.T) {
	var b strings.Builder
	if err := sharesCSV(&b, wire.Shares{Lines: []wire.Share{{Account: "=1+1", User: "@ann", Parent: "-x"}}}, true); err != nil {
		t.Fatal(err)
	}
	if got, want := b.String(), "'=1+1,'@ann,0,0,0,,,0,,'-x,,,\n"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// TestSharesFit: a terminal of 100 columns shows every figure, whatever the names and with large
// figures; without a terminal no name is shortened.
func TestSharesFit(t *testing.T) {
	fair := 0.125
	big := wire.Share{Depth: 3, Shares: 1000, Deserved: 10000, Used: 9999, Wanted: 100000, Borrowed: 1000.5, Lent: 1000.5, Hours: &wire.GPUHours{Day: 24000, Week: 168000, Month: 7200000}}
	account, user := big, big
	account.Account, user.Account, user.User, user.FairShare, user.Depth = strings.Repeat("a", 30), strings.Repeat("a", 30), strings.Repeat("u", 20), &fair, 4
	for _, room := range []int{100, 0} {
		table := terminal.Table{Room: room}
		fillShares(&table, wire.Shares{Lines: []wire.Share{{Account: "root"}, account, user}})
		var b strings.Builder
		if err := table.Write(&b); err != nil {
			t.Fatal(err)
		}
		for line := range strings.SplitSeq(b.String(), "\n") {
			if n := utf8.RuneCountInString(line); room > 0 && n > room || strings.HasSuffix(line, "+") {
				t.Errorf("%d columns: %s", n, line)
			}
		}
		if text := b.String(); !strings.Contains(text, "0.125") || !strings.Contains(text, "7200000") || (room == 0) != strings.Contains(text, user.User) {
			t.Errorf("room %d:\n%s", room, text)
		}
	}
}
