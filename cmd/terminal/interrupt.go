package terminal

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"
)

// Interruptible ends when the user types ^C, or somebody ends sluice with SIGTERM, so that
// what was started is taken down.
func Interruptible(ctx context.Context) (context.Context, context.CancelFunc) {
	return signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
}

// Interrupted says of a command that ended because ctx did which signal ended it: commands
// that only compute have no deadline, and "context canceled" reads as if they had.
func Interrupted(ctx context.Context, err error) error {
	if err == nil || !errors.Is(err, context.Canceled) || ctx.Err() == nil {
		return err
	}
	return fmt.Errorf("stopped before the end: %w; sluice has no time limit of its own here", context.Cause(ctx))
}
