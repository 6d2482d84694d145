package world_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/engine"
	"github.com/sluice-hpc/sluice/elastic/engine/journal"
	"github.com/sluice-hpc/sluice/elastic/engine/observe"
	"github.com/sluice-hpc/sluice/elastic/world"
	"github.com/sluice-hpc/sluice/elastic/world/records"
	"github.com/sluice-hpc/sluice/slurm"
	"github.com/sluice-hpc/sluice/slurm/fake"
)

// service is the service account of these tests.
const service = "sluice-data"

// users are those of these tests. Their uids do not depend on who comes first.
var users = map[string]uint32{service: 4000, "ada": 4001, "bob": 4002}

// wished is a job that one of these users wants to have.
type wished struct {
	user, account string
	spec          elastic.Spec
	after         time.Duration // since the job before
	serial        float64
}

// play hands in jobs, each as its user or through the service account, and returns everything that was
// decided and published, with the world and the daemon.
func play(t *testing.T, policy string, jobs []wished, as func(i int, j wished) world.Job) (string, *world.World, *daemon) {
	w := world.New(world.Config{Records: &records.Records{Users: users}, Fake: fake.Config{Seed: 7, Nodes: fake.Grid(2, 5), Users: users}})
	counts(w.Slurm)
	w.Slurm.SetShares([]slurm.Share{
		{Account: "root"}, {Account: "bio", Parent: "root", Shares: 40}, {Account: "phys", Parent: "root", Shares: 60},
		{Account: "bio", User: "ada", Parent: "bio", Shares: 3}, {Account: "bio", User: "bob", Parent: "bio", Shares: 1}, {Account: "bio", User: service, Parent: "bio", Shares: 9},
		{Account: "phys", User: "ada", Parent: "phys", Shares: 1}, {Account: "phys", User: service, Parent: "phys", Shares: 1},
	})
	d := boot(t, w, new(journal.Memory), policy, func(c *engine.Config) {
		c.Limiter, c.Sharer, c.Accounts, c.Confined, c.Proven = w.Client, w.Client, w, service, false
		c.Limits.Moves = 2
	})
	at := time.Duration(0)
	for i, j := range jobs {
		at += j.after
		w.At(at, func() {
			out := as(i, j)
			out.Spec, out.Model, out.Args = j.spec, world.Amdahl(60, j.serial), []string{"--account=" + j.account}
			w.Submit(out)
		})
	}
	var said strings.Builder
	step := cycler{d, func() {
		r := d.Report()
		if r == nil {
			return
		}
		fmt.Fprintln(&said, r.At.UnixNano(), r.Blind, r.Nodes, r.Demands, r.Health, r.Sharing())
		for _, jr := range r.Jobs {
			fmt.Fprintf(&said, "%d %v %s@%s %v %q %q %v %v %v\n", jr.Record.ID, jr.Record.Owner, jr.Job.User, jr.Job.Account, jr.Target, sentence(jr.Why), jr.Problems, jr.ETA, jr.Promised, jr.Job.Unproven)
		}
	}}
	if err := w.Drive(context.Background(), step, at+25*time.Minute); err != nil {
		t.Error(err)
	}
	for _, bad := range w.Check() {
		t.Error(bad)
	}
	return said.String(), w, d
}

// cycler calls a function after every cycle.
type cycler struct {
	*daemon
	after func()
}

func (c cycler) Cycle(ctx context.Context, now time.Time) (time.Time, error) {
	wake, err := c.daemon.Cycle(ctx, now)
	c.after()
	return wake, err
}

// drawn draws jobs of ada and bob.
func drawn(t *rapid.T) (jobs []wished) {
	for range rapid.IntRange(2, 6).Draw(t, "jobs") {
		j := wished{user: rapid.SampledFrom([]string{"ada", "bob"}).Draw(t, "user"), account: "bio", after: time.Duration(rapid.IntRange(0, 300).Draw(t, "after")) * time.Second, serial: .02}
		if j.user == "ada" && rapid.Bool().Draw(t, "phys") {
			j.account = "phys"
		}
		j.spec = elastic.Spec{Min: rapid.IntRange(1, 3).Draw(t, "min"), Max: rapid.IntRange(3, 10).Draw(t, "max"), Total: float64(rapid.IntRange(5, 60).Draw(t, "total"))}
		if rapid.Bool().Draw(t, "model") {
			j.spec.Model, j.spec.Script = "net", "0123456789ab"
		}
		jobs = append(jobs, j)
	}
	return jobs
}

// TestConfinedJobsAreTheirOwners: a cluster decides about confined jobs of ada and bob as about ordinary
// jobs of theirs: sizes, places, reasons, shares, admissions, what is known of their programs. An owner
// that another user's job names changes nothing.
func TestConfinedJobsAreTheirOwners(t *testing.T) {
	policies := []string{"lookahead", "knapsack", "fcfs", "deadline"}
	rapid.Check(t, func(r *rapid.T) {
		jobs, policy := drawn(r), rapid.SampledFrom(policies).Draw(r, "policy")
		confined := rapid.SliceOfN(rapid.Bool(), len(jobs), len(jobs)).Draw(r, "confined")
		want, _, _ := play(t, policy, jobs, func(i int, j wished) world.Job {
			if !confined[i] && i%2 == 0 { // its own name is removed as another's is, which takes time
				return world.Job{User: j.user, For: j.user}
			}
			return world.Job{User: j.user}
		})
		got, _, d := play(t, policy, jobs, func(i int, j wished) world.Job {
			switch {
			case confined[i]:
				return world.Job{User: service, For: j.user}
			case i%2 == 0: // believed, it would be the other's
				return world.Job{User: j.user, For: map[string]string{"ada": "bob", "bob": "ada"}[j.user]}
			}
			return world.Job{User: j.user}
		})
		if differ(t, policy, want, got); t.Failed() {
			r.Fatalf("%v %v\n%s", jobs, confined, d.log.String())
		}
	})
}

// directory is a directory of users that may not know one.
type directory struct {
	observe.Accounts
	lacks map[string]bool
}

func (d directory) Account(name string) observe.Account {
	if d.lacks[name] {
		return observe.Account{}
	}
	return d.Accounts.Account(name)
}

// guarded is a cluster with a service account and such a directory.
func guarded(t *testing.T, kept memory, w *world.World, users directory) *daemon {
	return boot(t, w, kept, "lookahead", func(c *engine.Config) { c.Accounts, c.Confined = users, service })
}

// whose returns the owner of a job and its uid in Slurm; none if it is not managed.
func (d *daemon) whose(j *world.Trainer) (owner elastic.Owner, slurm uint32) {
	if js := d.ByID[elastic.JobID(j.ID())]; js != nil {
		return js.Rec.Owner, js.Rec.SlurmUID
	}
	return owner, 0
}

// TestWhoseJobs: an owner counts in jobs of the service account alone. While it is not known whose a job
// is, it is left alone, also after a restart; after that the directory, and what is written into the
// comment, change nothing.
func TestWhoseJobs(t *testing.T) {
	w := world.New(world.Config{Records: &records.Records{Users: users}, Fake: fake.Config{Seed: 7, Nodes: fake.Grid(2, 5), Users: users}})
	lacks := directory{w, map[string]bool{service: true, "bob": true}}
	kept := new(journal.Memory)
	d := guarded(t, kept, w, lacks)
	small := elastic.Spec{Min: 1, Max: 2, Total: 1000}
	of := func(user, named string) *world.Trainer {
		return w.Submit(world.Job{User: user, For: named, Spec: small})
	}
	adas, bobs, own, foreign := of(service, "ada"), of(service, "bob"), of(service, ""), of("bob", "ada")
	ada, bob, itself := elastic.Owner{User: "ada", UID: users["ada"]}, elastic.Owner{User: "bob", UID: users["bob"]}, elastic.Owner{User: service, UID: users[service]}
	is := func(when string, j *world.Trainer, want elastic.Owner, slurm uint32) {
		t.Helper()
		if got, uid := d.whose(j); got != want || uid != slurm {
			t.Errorf("%s: job %d of %s for %q is %+v's and of uid %d in Slurm, want %+v, %d\n%s", when, j.ID(), j.Job.User, j.Job.For, got, uid, want, slurm, d.log.String())
		}
	}
	for _, when := range []string{"the service account is not known", "nor after a restart"} {
		d.drive(t, time.Minute)
		is(when, adas, elastic.Owner{}, 0)
		is(when, foreign, elastic.Owner{}, 0)
		is(when, own, itself, users[service])
		if n := strings.Count(d.log.String(), "the service account sluice-data is not known; its new jobs"); n != 1 {
			t.Errorf("%s: said %d times", when, n)
		}
		d = guarded(t, kept, w, lacks)
	}
	lacks.lacks[service] = false
	d.drive(t, time.Minute)
	is("it is known", adas, ada, users[service])
	is("it is known", foreign, bob, users["bob"])
	is("but bob is not", bobs, elastic.Owner{}, 0)
	if tag, err := elastic.ParseTag(detail(t, w, foreign).Comment); err != nil || tag.For != "" {
		t.Errorf("the comment of a foreign job still names an owner: %+v, %v", tag, err)
	}
	if n := strings.Count(d.log.String(), fmt.Sprintf("job %d problem: its comment says for=ada, which is ignored", foreign.ID())); n != 1 {
		t.Errorf("said %d times that a foreign owner is ignored:\n%s", n, d.log.String())
	}
	lacks.lacks["bob"], lacks.lacks["ada"] = false, true
	if err := w.User("root").Update(context.Background(), adas.ID(), slurm.Update{Comment: commentFor(t, w, adas, "bob")}); err != nil {
		t.Fatal(err)
	}
	d.drive(t, time.Minute)
	lacks.lacks[service] = true
	for _, when := range []string{"another name was written", "after a restart"} {
		is(when, adas, ada, users[service])
		is(when, bobs, bob, users[service])
		if tag, err := elastic.ParseTag(detail(t, w, adas).Comment); err != nil || tag.For != "ada" {
			t.Errorf("%s: the comment names %q, %v", when, tag.For, err)
		}
		d = guarded(t, kept, w, lacks)
		d.drive(t, time.Minute)
	}
	for _, j := range w.Trainers() {
		jr := d.of(t, j)
		if jr.Job.GPUs() == 0 || len(jr.Problems) > 0 || jr.Record.Offset == 0 {
			t.Errorf("job %d of %s for %q has %d GPUs, read up to %d: %s; %q", j.ID(), j.Job.User, j.Job.For, jr.Job.GPUs(), jr.Record.Offset, sentence(jr.Why), jr.Problems)
		}
	}
	for _, bad := range w.Check() {
		t.Error(bad)
	}
}

func detail(t *testing.T, w *world.World, j *world.Trainer) slurm.Detail {
	t.Helper()
	d, err := w.User("root").Job(context.Background(), j.ID())
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// commentFor returns the job's comment with another owner.
func commentFor(t *testing.T, w *world.World, j *world.Trainer, name string) *string {
	t.Helper()
	tag, err := elastic.ParseTag(detail(t, w, j).Comment)
	if err != nil {
		t.Fatal(err)
	}
	tag.For = name
	text := tag.String()
	return &text
}
