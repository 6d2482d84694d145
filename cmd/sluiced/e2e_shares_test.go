package main_test

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/sluice-hpc/sluice/cmd/site"
)

// TestShares: on a real Slurm with slurmdbd and priority/multifactor, two accounts have 60 and 40
// shares. One is alone and has all GPUs. The other arrives and gets what it deserves, because the
// borrower's jobs shrink; so it does again while slurmdbd is down. No job is stopped, and no step is
// lost or trained twice.
func TestShares(t *testing.T) {
	needsAccounting(t, "shares were")
	t.Parallel()
	const ann, bob = "sluice-test-ann", "sluice-test-bob"
	s := play(t, withNodes(1, 10), withUsers([]string{ann, bob}), func(c *site.Config) {
		c.Lab.Accounting = true
		c.Lab.ExtraConf = "PriorityType=priority/multifactor\nPriorityWeightFairshare=100000\nPriorityDecayHalfLife=7-0\nPriorityCalcPeriod=1\n"
	})
	s.must(s.Lab.Enroll(s.ctx, "phys", ann))
	s.must(s.Lab.Enroll(s.ctx, "bio", bob))
	s.limit("account", "phys", "fairshare=60")
	s.limit("account", "bio", "fairshare=40")
	s.readsShares("60", "40")

	first := s.submit("first", bob, 300, []string{"--max-gpus=10"}, "--seconds", "0.4")
	second := s.submit("second", bob, 300, []string{"--max-gpus=10"}, "--seconds", "0.4")
	together := func(what string, want int) {
		t.Helper()
		s.must(site.Until(s.ctx, 3*time.Minute, what, func() (bool, error) {
			a, b := first.view(), second.view()
			return a.GPUs+b.GPUs == want && a.GPUs > 0 && b.GPUs > 0 && a.Move == nil && b.Move == nil, nil
		}))
	}
	together("bio to have all GPUs while it is alone", 10)

	third := s.submit("third", ann, 300, []string{"--max-gpus=10"}, "--seconds", "0.4")
	began := time.Now()
	third.runsOn(6)
	t.Logf("phys had the 6 GPUs that it deserves after %v", time.Since(began).Round(100*time.Millisecond))
	together("bio to have what it deserves", 4)
	s.cancel(third)
	together("the GPUs of phys to be lent", 10)

	s.must(s.Lab.KillSlurmdbd(s.ctx))
	fourth := s.submit("fourth", ann, 300, []string{"--max-gpus=10"}, "--seconds", "0.4")
	began = time.Now()
	fourth.runsOn(6)
	t.Logf("and again after %v, without slurmdbd", time.Since(began).Round(100*time.Millisecond))
	together("bio to have what it deserves while slurmdbd is down", 4)
	s.must(s.Lab.StartSlurmdbd(s.ctx))

	fourth.completes()
	first.completes()
	second.completes()
	s.usedLately(map[string]string{ann: "phys", bob: "bio"})
}

// usedLately checks that the GPU-hours beside the shares are those of a report, also of users that have
// no job any more.
func (s *scene) usedLately(accounts map[string]string) {
	s.t.Helper()
	shares, err := s.Control().Shares(s.ctx)
	s.must(err)
	report, err := s.Control().Usage(s.ctx, "account", time.Now().Add(-24*time.Hour), time.Time{})
	s.must(err)
	hours := map[string]float64{}
	for _, l := range shares.Lines {
		if l.Hours != nil {
			hours[l.Account+"/"+l.User] = l.Hours.Month
		}
	}
	for user, account := range accounts {
		used := 0.0
		for _, row := range report.Rows {
			if row.Name == account {
				used = row.GPUHours
			}
		}
		for _, line := range []string{account + "/", account + "/" + user} {
			if got := hours[line]; !(used > 0) || math.Abs(got-used) > .01 { // the report is of a moment later
				s.t.Errorf("%s: %v GPU-hours beside its share, %v in a report", line, got, used)
			}
		}
	}
}

// readsShares waits until slurmctld knows the shares, and sluiced has read them.
func (s *scene) readsShares(shares ...string) {
	s.t.Helper()
	s.must(site.Until(s.ctx, time.Minute, "slurmctld to know the shares", func() (bool, error) {
		out := s.as("", "sshare", "-n", "-P", "-o", "RawShares")
		for _, n := range shares {
			if !strings.Contains("\n"+out+"\n", "\n"+n+"\n") {
				return false, nil
			}
		}
		return true, nil
	}))
}
