package lookahead_test

import (
	"syscall"
	"testing"
	"time"

	"github.com/sluice-hpc/sluice/elastic/policy/lookahead"
	"github.com/sluice-hpc/sluice/elastic/policy/policytest"
)

// BenchmarkLookahead reports, beside the time, the CPU time of a decision and by how many
// percent its value is below an upper bound of all plans.
func BenchmarkLookahead(b *testing.B) {
	for _, c := range []policytest.Site{
		{Name: "64GPUs/40jobs/any", Nodes: 16, PerNode: 4, Jobs: 40, Waiting: 2, Any: true},
		{Name: "64GPUs/160jobs/any", Nodes: 16, PerNode: 4, Jobs: 160, Waiting: 100, Any: true},
		{Name: "64GPUs/40jobs", Nodes: 16, PerNode: 4, Jobs: 40, Waiting: 2},
		{Name: "64GPUs/160jobs", Nodes: 16, PerNode: 4, Jobs: 160, Waiting: 100, Fitted: true},
		{Name: "512GPUs/160jobs/known", Nodes: 64, PerNode: 8, Jobs: 160, Waiting: 10},
		{Name: "512GPUs/160jobs/fitted", Nodes: 64, PerNode: 8, Jobs: 160, Waiting: 10, Fitted: true},
		{Name: "2048GPUs/640jobs/known", Nodes: 256, PerNode: 8, Jobs: 640, Waiting: 40},
		{Name: "2048GPUs/640jobs/fitted", Nodes: 256, PerNode: 8, Jobs: 640, Waiting: 40, Fitted: true},
		{Name: "10000GPUs/1000jobs/known", Nodes: 1250, PerNode: 8, Jobs: 1000, Waiting: 60},
		{Name: "10000GPUs/1000jobs/fitted", Nodes: 1250, PerNode: 8, Jobs: 1000, Waiting: 60, Fitted: true},
		{Name: "100000GPUs/10000jobs/known", Nodes: 12500, PerNode: 8, Jobs: 10_000, Waiting: 300},
		{Name: "100000GPUs/10000jobs/fitted", Nodes: 12500, PerNode: 8, Jobs: 10_000, Waiting: 300, Fitted: true},
	} {
		b.Run(c.Name, func(b *testing.B) {
			s := c.Snapshot()
			before := cpu()
			lookahead.Allocate(s) // later ones are cheaper: curves cache their answers
			first := cpu() - before
			value, bound := lookahead.ValueAndBound(s)
			b.ReportAllocs()
			before = cpu()
			for b.Loop() {
				lookahead.Allocate(s)
			}
			b.ReportMetric(float64((cpu()-before).Microseconds())/1000/float64(b.N), "cpu-ms/op")
			b.ReportMetric(float64(first.Microseconds())/1000, "first-cpu-ms")
			b.ReportMetric(100*(bound-value)/bound, "gap-%")
		})
	}
}

// cpu is the CPU time of this process: machines are shared.
func cpu() time.Duration {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano())
}
