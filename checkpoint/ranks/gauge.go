package ranks

import "github.com/sluice-hpc/sluice/checkpoint/supervise"

// gauge starts the program that looks at this node's GPUs; on the first node the
// runner has done so. The processes are none the worse without it: it ends with
// them, or before, and nobody waits for it.
func (t *team) gauge() {
	if t.Gauge == "" || t.node.ID == 0 || t.node.JobDir == "" {
		return
	}
	// Not there: nothing is told of these GPUs.
	_, _ = t.family.Start(supervise.Gauge(t.Gauge, t.node.JobDir, t.node.Name, t.Env))
}
