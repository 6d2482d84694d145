package main_test

import (
	"strings"
	"testing"
	"time"

	"github.com/sluice-hpc/sluice/cmd/site"
	"github.com/sluice-hpc/sluice/elastic/control/wire"
)

// TestOwnSharesOnSlurm: on a real Slurm with its default parameters, without slurmdbd, sluice.toml has
// two accounts with 3 shares and 1. The account that is alone has all GPUs. Under contention they have
// them 3 to 1, to the GPU, also after a restart of sluiced, and a job that names the other's account
// takes nothing. A third user, in no account, gets what both do not want.
func TestOwnSharesOnSlurm(t *testing.T) {
	t.Parallel()
	const kim, lee, max = "sluice-test-kim", "sluice-test-lee", "sluice-test-max"
	s := play(t, withNodes(1, 8), withUsers([]string{kim, lee, max}), withConfig(quick+`
[shares.ownlarge]
shares = 3
users = ["`+kim+`"]
[shares.ownsmall]
users = ["`+lee+`", "sluice-test-absent"]
`))
	submit := func(name, user, account string) *job {
		t.Helper()
		args := []string{"--max-gpus=8"}
		if account != "" {
			args = append(args, "--account="+account)
		}
		return s.submit(name, user, 4000, args, "--seconds", "0.4")
	}
	// until waits until no job moves and the users' jobs have so many GPUs, to the GPU if exact.
	until := func(what string, want map[string]int, off int) {
		t.Helper()
		s.must(site.Until(s.ctx, 4*time.Minute, what, func() (bool, error) {
			report, err := s.Control().Report(s.ctx)
			if err != nil {
				return false, err
			}
			has := map[string]int{}
			for _, j := range report.Jobs {
				switch {
				case j.Ended:
					continue
				case j.Move != nil:
					return false, nil
				}
				has[j.User] += j.Place.GPUs()
			}
			for user, n := range want {
				if has[user] < n-off || has[user] > n+off {
					return false, nil
				}
			}
			return true, nil
		}))
	}
	var jobs []*job
	jobs = append(jobs, submit("small1", lee, ""), submit("small2", lee, "ownlarge")) // the name gives it nothing
	until("the one that is alone to have all GPUs", map[string]int{lee: 8}, 0)
	began := time.Now()
	jobs = append(jobs, submit("large1", kim, ""), submit("large2", kim, "ownlarge"))
	until("3 to 1", map[string]int{kim: 6, lee: 2}, 1)
	t.Logf("3 to 1 after %v", time.Since(began).Round(100*time.Millisecond))

	guest := submit("guest", max, "ownlarge")
	s.Kill()
	s.must(s.Start(s.ctx))
	time.Sleep(15 * time.Second) // several cycles
	until("3 to 1 after a restart, beside a user of no account", map[string]int{kim: 6, lee: 2, max: 0}, 1)

	shown := s.as("", "sluice", "shares")
	if !strings.Contains(shown, "ownlarge") || !strings.Contains(shown, "ownsmall") || !strings.Contains(shown, "(none)") {
		t.Error(shown)
	}
	t.Log(shown)
	said, _ := s.Run(s.ctx, "", "sluice", "doctor")
	for _, want := range []string{"divided by the shares of sluice.toml (2 accounts, 3 users)", "do not exist on this host: sluice-test-absent", "in no account of sluice.toml: " + max} {
		if !strings.Contains(said, want) {
			t.Errorf("doctor does not say %q:\n%s", want, said)
		}
	}
	for _, j := range jobs {
		s.cancel(j)
	}
	guest.until("to have what the others do not want", func(v wire.Job) bool { return v.GPUs == 8 && v.Move == nil })
	s.cancel(guest)
}
