package figures

import (
	"context"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/sluice-hpc/sluice/elastic/sim/replay"
)

// TestSharesOfATrial: accounts are drawn and have shares; alone, an account has its own jobs and
// nodes.
func TestSharesOfATrial(t *testing.T) {
	b := newBench(context.Background(), Options{Workers: 1})
	one := parted{
		trial:    trial{load: "w2@1m", seed: 1, times: 1, policy: "knapsack", rules: slurms, info: replay.Oracle, interval: everyB, restart: restartB},
		accounts: twoAccounts, shares: equalShares,
	}
	alone := one
	alone.shares, alone.alone, alone.nodes = "", "a", 1
	runs := b.askParted(one, alone)
	b.start()
	if !runs.wait() {
		t.Fatal(b.failed())
	}
	both, a := runs.tasks[0], runs.tasks[1]
	if len(both.accounts) != 2 || both.accounts[0].Jobs+both.accounts[1].Jobs != 20 || len(both.jcts) != 2 || len(a.accounts) != 0 || len(a.jcts) != 1 {
		t.Fatalf("%+v %v, alone %v", both.accounts, both.jcts, a.jcts)
	}
	if a.sum.Jobs != both.accounts[0].Jobs || a.sum.MeanJCT <= both.accounts[0].MeanJCT || math.Abs(a.jcts["a"]-float64(a.sum.MeanJCT)) > .01 {
		t.Errorf("alone on a third of the nodes: %+v, together %+v", a.sum, both.accounts[0])
	}
}

// TestFigureOfSharesWithoutData: what needs no data is measured.
func TestFigureOfSharesWithoutData(t *testing.T) {
	f := all[slices.IndexFunc(all, func(f figure) bool { return f.number == 12 })]
	out := text(t, Options{Quick: true, Workers: 1}, f)
	if !strings.Contains(out, "12  lookahead  learned  bio   0.400") || !strings.Contains(out, "12  not measured: JCT and finish times") {
		t.Error(out)
	}
}
