package ranks

import "github.com/sluice-hpc/sluice/checkpoint/supervise"

// gauge starts the program that reads this node's GPUs; on the first node the runner has
// started it. The processes do not depend on it: it ends with them, or before, and
// nothing waits for it.
func (t *team) gauge() {
	if t.Gauge == "" || t.node.ID == 0 || t.node.JobDir == "" {
		return
	}
	// If the program is missing, these GPUs are not reported.
	_, _ = t.family.Start(supervise.Gauge(t.Gauge, t.node.JobDir, t.node.Name, t.Env))
}
