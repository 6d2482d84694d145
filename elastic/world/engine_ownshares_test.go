package world_test

import (
	"math"
	"testing"
	"time"

	"github.com/sluice-hpc/sluice/elastic/engine"
	"github.com/sluice-hpc/sluice/elastic/engine/journal"
	"github.com/sluice-hpc/sluice/elastic/share"
	"github.com/sluice-hpc/sluice/elastic/world"
	"github.com/sluice-hpc/sluice/elastic/world/records"
	"github.com/sluice-hpc/sluice/slurm"
	"github.com/sluice-hpc/sluice/slurm/fake"
)

// ownTree has the accounts phys and bio with 60 and 40 shares, and a user of each.
func ownTree(t *testing.T) *share.Own {
	t.Helper()
	own, err := share.NewOwn([]share.OwnAccount{
		{Name: "phys", Shares: 60, Users: map[string]float64{"ann": 1}},
		{Name: "bio", Shares: 40, Users: map[string]float64{"bob": 1}},
	})
	if err != nil {
		t.Fatal(err)
	}
	return own
}

// TestOwnShares: with shares of its own, a site without slurmdbd divides its GPUs, by the users that
// the accounts list: to name another's account takes nothing, and a user of none gets what is left.
// Slurm is not asked for its tree, also where that would count. A reload without them ends it.
func TestOwnShares(t *testing.T) {
	for name, weight := range map[string]int64{"without slurmdbd": 0, "beside Slurm's tree": 1000} {
		t.Run(name, func(t *testing.T) {
			w, d, s := shared(t, func(c *engine.Config) { c.Own = ownTree(t) })
			w.Slurm.SetLimits(slurm.Limits{FairShare: slurm.FairShare{Weight: weight}})
			s.err = slurm.ErrDatabaseDown
			bob := in(w, "phys", "bob", 1)
			d.drive(t, 10*time.Minute)
			d.has(t, "alone", map[*world.Trainer]int{bob: 10})
			ann := in(w, "bio", "ann", 1)
			d.drive(t, 5*time.Minute)
			d.has(t, "60:40", map[*world.Trainer]int{ann: 6, bob: 4})
			eve := in(w, "phys", "eve", 1)
			d.drive(t, 5*time.Minute)
			d.has(t, "beside a user of no account", map[*world.Trainer]int{ann: 6, bob: 4, eve: 0})
			lines := map[string]float64{}
			for _, l := range d.Report().Sharing() {
				if l.User != "" {
					lines[l.User+"@"+l.Account] = l.Shares
				}
				if (l.Account != "") != l.Listed {
					t.Errorf("%+v", l)
				}
			}
			if len(lines) != 3 || lines["ann@phys"] != 1 || lines["eve@"] != 1 {
				t.Errorf("the report has %v", lines)
			}
			if r := d.Report().Shares; s.asked > 0 || !r.Own || !r.Count || r.Why != "" {
				t.Errorf("%d queries for Slurm's tree; the report %+v", s.asked, r)
			}
			d.Reconfigure(func(c *engine.Config) { c.Own = nil })
			d.drive(t, 5*time.Minute)
			if r := d.Report().Shares; r.Own || r.Count != (weight > 0) || (s.asked > 0) != (weight > 0) {
				t.Errorf("after a reload: %d queries for Slurm's tree, the report %+v", s.asked, r)
			}
		})
	}
}

// TestBooksOutliveTheDaemon: what a user had less than it deserved still counts after a restart, also
// one by a crash, but for the last minute.
func TestBooksOutliveTheDaemon(t *testing.T) {
	w := world.New(world.Config{Records: &records.Records{}, Fake: fake.Config{Seed: 5, Nodes: fake.Grid(1, 10)}})
	kept := new(journal.Memory)
	start := func() *daemon {
		return boot(t, w, kept, "lookahead", func(c *engine.Config) { c.Own, c.Limiter = ownTree(t), w.Client })
	}
	credit := func(d *daemon, user string) float64 {
		for _, c := range d.Report().Shares.Claims.Each {
			if c.User == user {
				return c.Credit / 3600
			}
		}
		return math.NaN()
	}
	d := start()
	in(w, "", "bob", 10) // it keeps its minimum
	d.drive(t, 5*time.Minute)
	in(w, "", "ann", 1)
	d.drive(t, 30*time.Minute)
	ann, bob := credit(d, "ann"), credit(d, "bob")
	if !(ann > 2.5 && ann < 3.1) || math.Abs(ann+bob) > .01 {
		t.Errorf("half an hour with 6 GPUs less: %v GPU-hours, and %v", ann, bob)
	}
	d = start()
	d.drive(t, 10*time.Second)
	if again := credit(d, "ann"); math.Abs(again-ann) > .15 {
		t.Errorf("after a restart %v GPU-hours, before %v", again, ann)
	}
}
