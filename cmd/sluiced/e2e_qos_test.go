package main_test

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/sluice-hpc/sluice/cmd/site"
	"github.com/sluice-hpc/sluice/elastic/control/wire"
)

// TestQOSRules: on a real Slurm with slurmdbd, at its default scheduling parameters, two accounts have 60
// and 40 shares, and three QOS have a rule each. Jobs of the scavenger have what no other job
// wants, and shrink to their minimum once another account wants more than it deserves; jobs of the
// QOS with a guarantee have that, which is more than their account deserves; of one user's jobs
// those of the QOS with a weight have as much more. No job is stopped for that, and without the
// rule the jobs of each part have other sizes: 6 and 4, 6 and 4, 1 and 9. At last a job waits that
// fits only where the scavenger's is stopped: preempt = true allows that.
func TestQOSRules(t *testing.T) {
	needsAccounting(t, "rules for QOS were")
	t.Parallel()
	const ivy, jon = "sluice-test-ivy", "sluice-test-jon"
	s := play(t, withNodes(1, 10), withUsers([]string{ivy, jon}), withConfig(quick+rulesOfQOS), func(c *site.Config) {
		c.Lab.Accounting = true
		c.Lab.ExtraConf = "PriorityType=priority/multifactor\nPriorityWeightFairshare=100000\nPriorityDecayHalfLife=7-0\nPriorityCalcPeriod=1\n"
	})
	s.enrollWithQOS("geo", ivy, "60")
	s.enrollWithQOS("med", jon, "40")
	s.readsShares("60", "40")
	began := time.Now()
	job := func(name, user, qos string) *job {
		return s.submit(name, user, 1_000_000, []string{"--max-gpus=10", "--qos=" + qos}, "--seconds", "0.4")
	}

	scavenges := job("scavenges", ivy, "low")
	scavenges.runsOn(10)
	ordinary := job("ordinary", jon, "normal")
	ordinary.runsOn(9) // more than the 4 that its account deserves
	scavenges.runsOn(1)
	t.Logf("a scavenger has what no other wants, after %v", time.Since(began).Round(time.Second))
	s.cancel(scavenges)

	guaranteed := job("guaranteed", ivy, "urgent")
	guaranteed.runsOn(8)
	ordinary.runsOn(2)
	t.Logf("a guarantee is kept, after %v", time.Since(began).Round(time.Second))
	s.cancel(guaranteed, ordinary)

	plain, weighs := job("plain", ivy, "normal"), job("weighs", ivy, "heavy")
	weighs.runsOn(8)
	plain.runsOn(2)
	t.Logf("a weight counts among a user's jobs, after %v", time.Since(began).Round(time.Second))
	s.cancel(plain, weighs)

	parked := s.submit("parked", ivy, 1_000_000, []string{"--min-gpus=6", "--qos=low"}, "--seconds", "0.4")
	parked.until("to train", func(v wire.Job) bool { return v.State == "RUNNING" && v.GPUs >= 6 && v.Speaks && v.Done > 0 })
	waits := s.submit("waits", jon, 240, []string{"--min-gpus=6", "--qos=normal"}, "--seconds", "0.4")
	parked.until("to be parked", func(v wire.Job) bool {
		return v.State == "PENDING" && v.GPUs == 0 && v.Move == nil && strings.Contains(v.Last, "waits again")
	})
	waits.runsOn(10)
	log, err := os.ReadFile(s.Log)
	s.must(err)
	if want := fmt.Sprintf("jobs of QOS low get only GPUs that no other job wants, and job %d waits for 6 GPUs", waits.id); !strings.Contains(string(log), want) {
		t.Errorf("sluiced's log does not say %q", want)
	}
	waits.completes()
	parked.until("to run again", func(v wire.Job) bool { return v.State == "RUNNING" && v.GPUs >= 6 && v.Restarts > 0 })
	t.Logf("a scavenger is parked for a job that waits, after %v", time.Since(began).Round(time.Second))
	s.cancel(parked)
}

// rulesOfQOS are the rules that TestQOSRules shows.
const rulesOfQOS = `[policy]
preempt = true
overload = 0.0
wait = "8s"
[qos.low]
scavenger = true
[qos.urgent]
guarantee = 8
[qos.heavy]
weight = 4.0
`

// enrollWithQOS makes an account with a user and so many shares, whose jobs may use the QOS with rules.
func (s *scene) enrollWithQOS(account, user, shares string) {
	s.t.Helper()
	s.must(s.Lab.Enroll(s.ctx, account, user))
	_, _ = s.Run(s.ctx, "", "sacctmgr", "-i", "add", "qos", "low,urgent,heavy") // an error if they are there already
	s.limit("account", account, "fairshare="+shares)
	s.limit("user", user, "qos=normal,low,urgent,heavy")
}
