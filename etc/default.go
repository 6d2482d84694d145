package etc

import (
	"path/filepath"
	"slices"
	"time"
)

// Default returns the configuration in sluice.toml without reading it: each call of sluice
// begins here. TestDefaultIsDocumented checks that the two are equal.
func Default() Config {
	return Config{
		Paths: Paths{
			State: "/var/lib/sluice", Jobs: "/shared/sluice/jobs", Outbox: "/shared/sluice/outbox",
			Socket: "/run/sluice/sluiced.sock",
		},
		Remote:  Remote{User: "sluice"},
		Cycle:   Cycle{Period: 30 * time.Second, Transition: 500 * time.Millisecond, Backoff: 5 * time.Minute, Abandon: 2 * time.Hour},
		Slurm:   Slurm{Timeout: 20 * time.Second, Partitions: []string{}},
		Policy:  Policy{Name: "lookahead", Overload: 1, Wait: time.Hour},
		Welfare: Welfare{Value: 1, GPU: 0.1, Types: []TypeCost{}, Peak: 1, Surcharge: 1},
		Resize: Resize{
			Grace: 5 * time.Minute, MaxGrace: 4 * time.Hour, Cooldown: 30 * time.Second, Payback: 2,
			Confirm: 2 * time.Minute, Moves: 8, DeafAfter: 3,
			Save: 10 * time.Second, Drain: 2 * time.Second, Start: 3 * time.Second, Load: 10 * time.Second,
		},
		Checkpoint: Checkpoint{Keep: 2, Every: "auto", NodeMTBF: 30 * day, Retries: "auto", OnTimeout: "requeue"},
		Users:      Users{Operators: []string{}},
		Data: Data{
			Root: "/var/lib/sluice-data", Socket: "/run/sluice-data/vaultd.sock", Owners: []DataOwner{},
			System: slices.Clone(usualSystem), Software: []string{}, Network: "none", Numbers: 64 << 10, Bundle: 64 << 20, Log: 10 << 20,
		},
		Health: Health{Exclude: time.Hour, PerUser: 1},
		Notify: Notify{Exec: []string{}, Events: []string{"failure", "deadline", "unfit", "blind"}, Mail: true, Hosts: []string{}, Digest: time.Hour},
		Log:    Log{Level: "info", Format: "text"},
	}
}

// UserDefaults returns the defaults of 'sluiced --user': Default, with all paths under
// ~/.sluice.
func UserDefaults(home string) Config {
	c := Default()
	base := filepath.Join(home, ".sluice")
	c.Paths.State = filepath.Join(base, "state")
	c.Paths.Jobs = filepath.Join(base, "jobs")
	c.Paths.Outbox = filepath.Join(base, "outbox")
	c.Paths.Socket = filepath.Join(base, "sluiced.sock")
	c.Own = true
	return c
}
