package main

import (
	"strings"
	"testing"

	"github.com/sluice-hpc/sluice/elastic/control/wire"
)

// TestSharesCSVIsInert: names that spreadsheets would calculate are text, as in a report.
func TestSharesCSVIsInert(t *testing.T) {
	var b strings.Builder
	if err := sharesCSV(&b, wire.Shares{Lines: []wire.Share{{Account: "=1+1", User: "@ann", Parent: "-x"}}}, true); err != nil {
		t.Fatal(err)
	}
	if got, want := b.String(), "'=1+1,'@ann,0,0,0,,,0,,'-x\n"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
