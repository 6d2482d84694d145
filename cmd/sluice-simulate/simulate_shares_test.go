package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sluice-hpc/sluice/cmd/terminal"
)

// TestSimulateShares: generated jobs get accounts, a recording has its own, and one of an account
// without shares is refused.
func TestSimulateShares(t *testing.T) {
	simulate := func(args string) (string, string, int) {
		var out, errs bytes.Buffer
		code := terminal.Run(newCommand(), append([]string{"simulate"}, strings.Fields(args)...), &out, &errs)
		return out.String(), errs.String(), code
	}
	out, errs, code := simulate("--cluster 3x4 --workload gen:w1 --policy knapsack --shares phys=60,bio=40,phys/theory=1,ann@bio=3 --output json")
	var line struct {
		Accounts []struct {
			Account string
			Share   float64
			Jobs    int
		}
	}
	if code != 0 || json.Unmarshal([]byte(out), &line) != nil {
		t.Fatalf("%d: %s%s", code, out, errs)
	}
	jobs := 0
	for i, want := range []string{"phys", "bio", "phys/theory"} {
		if line.Accounts[i].Account != want {
			t.Errorf("%+v", line.Accounts)
		}
	}
	if jobs = line.Accounts[1].Jobs + line.Accounts[2].Jobs; jobs != 20 || line.Accounts[0].Jobs != line.Accounts[2].Jobs || line.Accounts[1].Share != .4 {
		t.Errorf("%+v", line.Accounts)
	}
	if out, _, _ := simulate("--cluster 3x4 --workload gen:w1 --policy knapsack --shares phys=60,bio=40"); !strings.Contains(out, "\naccounts, with their sub-accounts:\nPOLICY") {
		t.Error(out)
	}
	file := filepath.Join(t.TempDir(), "sacct.txt")
	text := "JobID|Account|User|State|AllocTRES|Submit|Start|Elapsed\n9|phys|ann|COMPLETED|gres/gpu=2|2026-01-01T00:00:00|2026-01-01T00:00:00|00:05:00\n"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, errs, code := simulate("--cluster 3x4 --format sacct --policy fcfs --shares phys=1 --workload " + file); code != 0 || !strings.Contains(out, "fcfs    phys     1.000     1 ") {
		t.Errorf("%d: %s%s", code, out, errs)
	}
	if _, errs, code := simulate("--cluster 3x4 --format sacct --policy fcfs --shares bio=1 --workload " + file); code == 0 || !strings.Contains(errs, "shares: account phys has none") {
		t.Errorf("%d: %s", code, errs)
	}
}
