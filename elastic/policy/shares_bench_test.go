package policy_test

import (
	"fmt"
	"syscall"
	"testing"
	"time"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/policy"
	"github.com/sluice-hpc/sluice/elastic/policy/policytest"
	"github.com/sluice-hpc/sluice/elastic/share"
	"github.com/sluice-hpc/sluice/elastic/share/claim"
)

// BenchmarkShares compares a decision of lookahead with shares, their division included, with the
// same without: 1,000 accounts in 20 of a level above, 2,000 users, 10,000 jobs, 100,000 GPUs. Jobs
// of equal users are in turn; or an account of one share has all that run.
func BenchmarkShares(b *testing.B) {
	site := policytest.Site{Nodes: 12500, PerNode: 8, Jobs: 10_000, Waiting: 300}
	p, err := policy.ByName("lookahead")
	if err != nil {
		b.Fatal(err)
	}
	var list []share.Association
	for i := range 20 {
		list = append(list, share.Association{Account: fmt.Sprint("g", i), Shares: float64(1 + i%5)})
	}
	for i := range 980 {
		list = append(list, share.Association{Account: fmt.Sprint("a", i), Parent: fmt.Sprint("g", i%20), Shares: float64(1 + i%7)})
	}
	tree, err := share.New(list)
	if err != nil {
		b.Fatal(err)
	}
	for name, of := range map[string]func(i int, j *elastic.Job) int{
		"in turn":     func(i int, _ *elastic.Job) int { return i },
		"one borrows": func(i int, j *elastic.Job) int { return i * min(1, len(j.Place)^1) },
	} {
		b.Run(name, func(b *testing.B) {
			s := site.Snapshot()
			for i := range s.Jobs {
				j := &s.Jobs[i]
				n := of(i, j)
				j.Account, j.User = fmt.Sprint("a", n%980), fmt.Sprint("u", n%1960)
			}
			p.Decide(s) // curves cache their answers, from one cycle of the daemon to the next
			if _, err := claim.Of(tree, &s, nil, p.RigidIn, nil); err != nil {
				b.Fatal(err)
			}
			var without, with, dividing time.Duration
			for b.Loop() {
				start := cpuTime()
				p.Decide(s)
				middle := cpuTime()
				c, err := claim.Of(tree, &s, nil, p.RigidIn, nil)
				if err != nil {
					b.Fatal(err)
				}
				divided := cpuTime()
				shared := s
				shared.Caps = c.Caps()
				p.Decide(shared)
				without, with, dividing = without+middle-start, with+cpuTime()-middle, dividing+divided-middle
			}
			b.ReportMetric(float64(without.Milliseconds())/float64(b.N), "without-cpu-ms")
			b.ReportMetric(float64(with.Milliseconds())/float64(b.N), "with-cpu-ms")
			b.ReportMetric(float64(dividing.Milliseconds())/float64(b.N), "dividing-cpu-ms")
			b.ReportMetric(float64(with)/float64(without), "ratio")
		})
	}
}

// cpuTime is the CPU time of this process: machines are shared.
func cpuTime() time.Duration {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano())
}
