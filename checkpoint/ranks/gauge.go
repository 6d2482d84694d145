package ranks

import "github.com/sluice-hpc/sluice/checkpoint/process"

// gauge starts the program that looks at this node's GPUs; on the first node the
// runner has done so. The processes are none the worse without it: it ends with
// them, or before, and nobody waits for it.
func (t *team) gauge() {
	if t.Gauge == "" || t.node.ID == 0 || t.node.JobDir == "" {
		return
	}
	_, _ = t.family.Start(process.Command{ // not there: nothing is told of these GPUs
		Argv: []string{t.Gauge, "--into=" + t.node.JobDir, "--node=" + t.node.Name}, Env: t.Env,
	})
}
