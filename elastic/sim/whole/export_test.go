package whole

import (
	"time"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/sim/replay"
)

// Daemon is the daemon's configuration as it is installed (etc/sluice.toml), for
// the caller to complete with nodes, a policy and Times.
func Daemon() Config {
	return Config{
		Config: replay.Config{
			Interval: 30 * time.Second, Restart: 25 * time.Second, Info: replay.Learned, Placing: replay.Ours,
			Limits: elastic.Limits{Cooldown: 30 * time.Second, Payback: 2, Grace: grace, Confirm: confirm, Moves: 8, DeafAfter: deafAfter},
		},
		Transition: transition,
		Price:      elastic.Price{Save: 10 * time.Second, Drain: 2 * time.Second, Start: 3 * time.Second, Load: 10 * time.Second},
	}
}
