package main_test

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/sluice-hpc/sluice/cmd/site"
	"github.com/sluice-hpc/sluice/elastic"
)

// TestReclaims: on a real Slurm with slurmdbd and three accounts, one has lent all its GPUs. Whenever it
// has a job again, that has the GPUs that the account deserves, after the borrower's save and a few
// seconds. It is a campaign: SLUICE_RECLAIMS is how often. The time of each is printed.
func TestReclaims(t *testing.T) {
	trials, _ := strconv.Atoi(os.Getenv("SLUICE_RECLAIMS"))
	if trials < 1 {
		t.Skip("a campaign: SLUICE_RECLAIMS=50 tries it so often; TestShares tries it once")
	}
	const ann, bob, eve = "sluice-test-ann", "sluice-test-bob", "sluice-test-eve"
	s := play(t, withNodes(1, 10), withUsers([]string{ann, bob, eve}), func(c *site.Config) {
		c.Lab.Accounting = true
		c.Lab.ExtraConf = "PriorityType=priority/multifactor\nPriorityWeightFairshare=100000\nPriorityDecayHalfLife=7-0\nPriorityCalcPeriod=1\n"
	})
	for user, account := range map[string]string{ann: "phys", bob: "bio", eve: "chem"} {
		s.must(s.Lab.Enroll(s.ctx, account, user))
	}
	s.limit("account", "phys", "fairshare=60")
	s.limit("account", "bio", "fairshare=30")
	s.limit("account", "chem", "fairshare=10")
	s.readsShares("60", "30", "10")

	s.must(site.Until(s.ctx, 2*time.Minute, "sluiced to read the shares", func() (bool, error) {
		out, err := s.Run(s.ctx, "", "sluice", "shares", "--csv")
		return strings.Contains(out, "\nphys,"), err
	}))
	borrower := s.submit("borrower", bob, 1_000_000, []string{"--max-gpus=10"}, "--seconds", "0.4")
	chem := s.submit("chem", eve, 1_000_000, []string{"--max-gpus=1"}, "--seconds", "0.4")
	chem.runsOn(1)
	borrower.runsOn(9)
	var beyond []time.Duration
	for i := range trials {
		at := time.Now()
		lender := s.submit(fmt.Sprint("lender", i), ann, 1_000_000, []string{"--min-gpus=6", "--max-gpus=6"}, "--seconds", "0.4")
		began := lender.runsOn(6).FirstRun
		borrower.runsOn(3)
		past, err := s.Control().History(s.ctx, elastic.JobID(borrower.id))
		s.must(err)
		save := time.Duration(past.Segments[len(past.Segments)-1].Price.Save * float64(time.Second))
		beyond = append(beyond, began.Sub(at)-save)
		t.Logf("trial %d: %v from the submit to the first run on 6 GPUs, of it %v the borrower's save", i+1, began.Sub(at).Round(time.Millisecond), save.Round(time.Millisecond))
		s.cancel(lender)
		borrower.runsOn(9)
	}
	slices.Sort(beyond)
	t.Logf("reclaims=%d beyond_save_median=%.2f beyond_save_p95=%.2f beyond_save_max=%.2f seconds", trials,
		beyond[len(beyond)/2].Seconds(), beyond[min(len(beyond)-1, len(beyond)*95/100)].Seconds(), beyond[len(beyond)-1].Seconds())
	s.cancel(borrower, chem)
}
