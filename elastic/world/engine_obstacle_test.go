package world_test

import (
	"strings"
	"testing"
	"time"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/engine/journal"
	"github.com/sluice-hpc/sluice/elastic/world"
	"github.com/sluice-hpc/sluice/elastic/world/records"
	"github.com/sluice-hpc/sluice/slurm/fake"
)

// keptIdle is for how long the GPUs of a job that Slurm does not start may be idle: until its reason is
// accepted as final, plus one or two cycles.
const keptIdle = 15 * time.Second

// With every policy a job that Slurm does not start because of licenses releases its GPUs, is tried again
// at growing intervals, delays no other job, and starts when a license is free.
func TestWhatSlurmRefusesAfterTheReleaseHoldsNothing(t *testing.T) {
	for _, p := range everyPolicy() {
		t.Run(p.Name, func(t *testing.T) {
			w := world.New(world.Config{Records: &records.Records{}, Fake: fake.Config{Seed: 5, Nodes: fake.Grid(2, 4), Licenses: map[string]int{"lic": 1}}})
			d := boot(t, w, new(journal.Memory), p.Name)
			submit := func(total float64, args ...string) *world.Trainer {
				return w.Submit(world.Job{User: "alice", Spec: elastic.Spec{Min: 2, Max: 4, Total: total}, Model: world.Perfect(60), Args: args})
			}
			first := submit(60, "--licenses=lic:1")
			var second, third *world.Trainer
			w.At(time.Minute, func() { second, third = submit(5, "--licenses=lic"), submit(200) })
			var since time.Time
			tries, longest, said := 0, time.Duration(0), ""
			for at := time.Minute; at < time.Hour; at += time.Second {
				w.At(at, func() {
					if second == nil || first.Ended() {
						return
					}
					if now := whys(d); strings.Contains(now, "(Licenses)") {
						said = now
					}
					holds := false
					for _, j := range d.Report().Jobs {
						holds = holds || j.Record.ID == elastic.JobID(second.ID()) && j.Intent != nil
					}
					switch {
					case holds && since.IsZero():
						since, tries = w.Now(), tries+1
					case holds:
						longest = max(longest, w.Now().Sub(since))
					default:
						since = time.Time{}
					}
				})
			}

			finish(t, w, d, 6*time.Hour)
			if !first.Ended() || !second.Ended() || !third.Ended() {
				t.Fatalf("ended: first %t, second %t, third %t\n%s", first.Ended(), second.Ended(), third.Ended(), d.log.String())
			}
			if longest > keptIdle || tries < 1 || tries > 9 {
				t.Errorf("tried %d times in the time of the first, GPUs kept for %s at most\n%s", tries, longest, d.log.String())
			}
			ran, over := second.Runs()[0].Began, first.Runs()[len(first.Runs())-1]
			if ran.Before(over.Began) {
				t.Errorf("it ran beside the first")
			}
			if !strings.Contains(said, "(Licenses): licenses that it asks for are in use; next try at ") {
				t.Errorf("explained as\n%s", said)
			}
		})
	}
}

// How a job ended is known after a restart of the daemon, when Slurm has purged the job.
func TestEndingsOutliveTheDaemon(t *testing.T) {
	w := world.New(world.Config{Records: &records.Records{}, Fake: fake.Config{Seed: 5, Nodes: fake.Grid(1, 4)}})
	kept := new(journal.Memory)
	w.Submit(world.Job{User: "alice", Spec: elastic.Spec{Min: 1, Max: 1, Total: 100}, Model: world.Perfect(60), Limit: time.Minute, Behaviour: world.Behaviour{Silent: true}})
	for _, life := range []string{"first", "second"} {
		d := boot(t, w, kept, "lookahead")
		finish(t, w, d, 20*time.Minute)
		jobs := d.Report().Jobs
		if len(jobs) != 1 || jobs[0].Ending.String() != "ended at its time limit of 1 min" {
			t.Errorf("the %s daemon says %+v", life, jobs)
		}
	}
}
