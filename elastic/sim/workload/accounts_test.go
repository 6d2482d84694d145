package workload_test

import (
	"slices"
	"testing"

	"github.com/sluice-hpc/sluice/elastic/sim/workload"
)

// Jobs that have an account keep it; the others get each of the accounts about as often, the same
// ones each time the workload is walked.
func TestAccountsAreDrawn(t *testing.T) {
	w, err := workload.Generate("powerlaw@1000", 1, workload.Options{})
	if err != nil {
		t.Fatal(err)
	}
	plain := slices.Collect(w.Jobs)
	own := workload.Workload{Name: "own", Count: 1000, Jobs: func(yield func(workload.Job) bool) {
		for i, j := range plain {
			if i == 0 {
				j.Account = "own"
			}
			if !yield(j) {
				return
			}
		}
	}}
	counts := map[string]int{}
	drawn := slices.Collect(workload.UnderAccounts(own, []string{"phys", "bio"}, 3).Jobs)
	again := slices.Collect(workload.UnderAccounts(own, []string{"phys", "bio"}, 3).Jobs)
	other := slices.Collect(workload.UnderAccounts(own, []string{"phys", "bio"}, 4).Jobs)
	same := 0
	for i, j := range drawn {
		counts[j.Account]++
		if j.Account != again[i].Account || j.Name != plain[i].Name {
			t.Fatalf("job %d: %s, and %s again", i, j.Account, again[i].Account)
		}
		if j.Account == other[i].Account {
			same++
		}
	}
	if counts["own"] != 1 || counts["phys"] < 400 || counts["bio"] < 400 || same > 600 {
		t.Errorf("%v, %d as with another seed", counts, same)
	}
	if none := slices.Collect(workload.UnderAccounts(own, nil, 3).Jobs); none[1].Account != "" {
		t.Error(none[1].Account)
	}
}
