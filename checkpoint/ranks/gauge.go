package ranks

import "github.com/sluice-hpc/sluice/checkpoint/process"

// gauge starts the program that reads this node's GPUs; on the first node the runner has
// started it. The processes do not depend on it: it ends with them, or before, and
// nothing waits for it.
func (t *team) gauge() {
	if t.Gauge == "" || t.node.ID == 0 || t.node.JobDir == "" {
		return
	}
	_, _ = t.family.Start(process.Command{ // missing: these GPUs are not reported
		Argv: []string{t.Gauge, "--into=" + t.node.JobDir, "--node=" + t.node.Name}, Env: t.Env,
	})
}
