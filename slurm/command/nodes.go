package command

import (
	"context"
	"errors"

	"github.com/sluice-hpc/sluice/slurm"
)

// NodeUpdate is a change of nodes that only an operator or an administrator may make.
type NodeUpdate struct {
	Nodes  string // a host list
	Reason string // reason to drain them; "" returns them to service
}

// Args are the arguments of the scontrol call.
func (u NodeUpdate) Args() []string {
	if u.Reason == "" {
		return []string{"update", "NodeName=" + u.Nodes, "State=RESUME"}
	}
	return []string{"update", "NodeName=" + u.Nodes, "State=DRAIN", "Reason=" + u.Reason}
}

// SetNodes drains nodes or returns them to service, with the rights of this process.
func (c *Client) SetNodes(ctx context.Context, u NodeUpdate) error {
	err := c.change(ctx, "scontrol update", 0, "scontrol", u.Args()...)
	var failed *slurm.Error
	if errors.As(err, &failed) { // the hints for Slurm's error texts are about jobs
		switch failed.Err {
		case slurm.ErrPermission:
			failed.Hint = "only Slurm's operators and administrators may change nodes"
		case slurm.ErrUnknownOutcome:
			failed.Hint = "look at the nodes before trying again: sinfo -N -l"
		}
	}
	return err
}
