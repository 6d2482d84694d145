package terminal

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"
)

// Interruptible returns a context that ends when the user types ^C, or sluice gets
// SIGTERM, so that what was started is taken down.
func Interruptible(ctx context.Context) (context.Context, context.CancelFunc) {
	return signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
}

// Interrupted adds to the error of a command that ended with ctx which signal ended it:
// commands that only compute have no deadline, and "context canceled" would suggest one.
func Interrupted(ctx context.Context, err error) error {
	if err == nil || !errors.Is(err, context.Canceled) || ctx.Err() == nil {
		return err
	}
	return fmt.Errorf("stopped before the end: %w; sluice has no time limit of its own here", context.Cause(ctx))
}
