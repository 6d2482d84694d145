package control_test

import (
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sluice-hpc/sluice/elastic/control/client"
	"github.com/sluice-hpc/sluice/elastic/control/controltest"
	"github.com/sluice-hpc/sluice/elastic/control/wire"
)

// Orders and reads have a limit each: a request beyond it is refused with a message and not
// carried out; a moment later requests are accepted again.
func TestTooFast(t *testing.T) {
	for name, what := range map[string]struct {
		burst int
		ask   func(*client.Client) error
	}{
		"orders": {20, func(c *client.Client) error {
			return c.Direct(ctx, controltest.Growing, wire.Change{Order: wire.Unpin})
		}},
		"plans":     {20, func(c *client.Client) error { _, err := c.Plan(ctx); return err }},
		"questions": {200, func(c *client.Client) error { _, err := c.Explain(ctx, controltest.Growing); return err }},
	} {
		t.Run(name, func(t *testing.T) {
			var seconds atomic.Int64
			o := options()
			o.Now = func() time.Time { return time.Unix(seconds.Load(), 0) }
			service := controltest.New()
			client := client.Dial(serve(t, o, service))
			for n := range what.burst + 5 {
				err := what.ask(client)
				if late := n >= what.burst; late != errors.Is(err, wire.ErrTooMany) || !late && err != nil {
					t.Fatalf("request %d: %v", n+1, err)
				}
			}
			seconds.Add(1)
			if err := what.ask(client); err != nil {
				t.Errorf("a second later: %v", err)
			}
		})
	}
}
