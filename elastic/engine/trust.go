package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/sluice-hpc/sluice/slurm"
)

// Trust makes an excluded node usable again, until another job or another reason complains about
// its GPUs. It is durable when Trust returns nil. Errors: ErrNoNode, ErrNoComplaint, or the
// journal's error.
func (e *Engine) Trust(ctx context.Context, node string, now time.Time) error {
	if !slices.ContainsFunc(e.Seen.Nodes, func(n slurm.Node) bool { return n.Name == node }) {
		return fmt.Errorf("%w: %s", ErrNoNode, node)
	}
	before := e.Health.Findings(e.cfg.Health)
	trusted, found := e.Health.Trust(node)
	if !found {
		return fmt.Errorf("%w %s", ErrNoComplaint, node)
	}
	if err := e.Executor.Trust(ctx, trusted); err != nil {
		return fmt.Errorf("trust in %s: %w", node, err)
	}
	e.TellHealth(before, now)
	return nil
}

var (
	// ErrNoNode: Slurm shows no node of that name.
	ErrNoNode = errors.New("no such node")
	// ErrNoComplaint: no job has complained about the node's GPUs.
	ErrNoComplaint = errors.New("nothing is said against the GPUs of the node")
)
