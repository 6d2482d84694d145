package world_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/sluice-hpc/sluice/checkpoint"
	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/engine"
	"github.com/sluice-hpc/sluice/elastic/engine/journal"
	"github.com/sluice-hpc/sluice/elastic/world"
	"github.com/sluice-hpc/sluice/elastic/world/records"
	"github.com/sluice-hpc/sluice/slurm"
	"github.com/sluice-hpc/sluice/slurm/fake"
)

// owned is the shared file system as in reality: every job's folder exists, with its owner, before the
// job does.
type owned struct {
	*world.Mailbox
	uids map[string]uint32
}

func (o owned) Runner(token string, uid uint32) (checkpoint.Runner, bool, error) {
	if owner, there := o.uids[token]; there && owner != uid {
		return checkpoint.Runner{}, false, checkpoint.ErrOwner
	}
	return o.Mailbox.Runner(token, uid)
}

// tagged submits a job with a given comment.
func tagged(t *testing.T, w *world.World, user, comment string, args ...string) slurm.JobID {
	t.Helper()
	id, _, err := w.User(user).Submit(context.Background(), slurm.Submission{
		Args:  append([]string{"--hold", "--requeue", "--open-mode=append", "--gpus-per-node=1", "--nodes=1-1", "--comment=" + comment}, args...),
		Stdin: []byte("#!/bin/sh\nsleep 60\n"),
	})
	if err != nil {
		t.Fatal(err)
	}
	return id
}

// Eve sees the folder of alice's job appear, and submits a job with its name in the comment before
// alice's job exists. Alice's job runs nevertheless.
func TestTokenTakenBeforehand(t *testing.T) {
	ctx := context.Background()
	const token = "0123456789abcdef0123456789abcdef"
	w := world.New(world.Config{Records: &records.Records{}, Fake: fake.Config{Seed: 7, Nodes: fake.Grid(1, 4)}})
	spec := elastic.Spec{Token: token, Min: 1, Max: 4, Total: 20}
	eve := tagged(t, w, "eve", elastic.Tag{Spec: spec}.String())
	job := w.Submit(world.Job{User: "alice", Spec: spec})
	detail, err := w.Client.Job(ctx, job.ID())
	if err != nil {
		t.Fatal(err)
	}
	d := boot(t, w, new(journal.Memory), "lookahead", func(c *engine.Config) {
		c.Mailbox = owned{w.Mail, map[string]uint32{token: detail.UID}}
	})
	if err := w.Drive(ctx, d, 2*time.Hour); err != nil {
		t.Error(err)
	}
	for _, bad := range w.Check() {
		t.Error(bad)
	}
	log := d.log.String()
	if job.Done() < 20 {
		t.Errorf("alice's job did %v of 20\n%s", job.Done(), log)
	}
	if n := strings.Count(log, fmt.Sprintf("job %d problem: its comment carries", eve)); n < 1 || n > 2 {
		t.Errorf("of eve's job it was said %d times why it is left alone, want once, and once more when alice comes", n)
	}
}

// Eve's jobs have alice's token and directives of their own. The comment of alice's job is not rewritten
// because of them.
func TestTokenOfAnothersJobWithOrders(t *testing.T) {
	ctx := context.Background()
	w := world.New(world.Config{Records: &records.Records{}, Fake: fake.Config{Seed: 7, Nodes: fake.Grid(1, 4)}})
	d := boot(t, w, new(journal.Memory), "lookahead")
	job := w.Submit(world.Job{User: "alice", Spec: elastic.Spec{Min: 1, Max: 4, Total: 20}})
	w.At(time.Minute, func() {
		for _, order := range []elastic.Directive{{Pin: 1}, {Hold: true}} {
			tagged(t, w, "eve", elastic.Tag{Spec: job.Job.Spec, Directive: order}.String())
		}
	})
	_ = w.Drive(ctx, d, time.Hour) // eve's jobs stay held
	if log := d.log.String(); job.Done() < 20 || strings.Contains(log, "into the comment") {
		t.Errorf("alice's job did %v of 20\n%s", job.Done(), log)
	}
}

// Jobs that their user moves out of sluice's partitions do not count as missing from Slurm's answer:
// however many there are, other users' jobs are not affected.
func TestMovedOutOfSluicesPartitions(t *testing.T) {
	ctx := context.Background()
	w := world.New(world.Config{Records: &records.Records{}, Fake: fake.Config{Seed: 7, Nodes: fake.Grid(1, 4)}})
	away := map[slurm.JobID]bool{}
	d := boot(t, w, new(journal.Memory), "lookahead", func(c *engine.Config) {
		c.Mine = func(j slurm.Job) bool { return !away[j.ID] }
	})
	var eves []slurm.JobID
	for n := range 40 {
		spec := elastic.Spec{Token: fmt.Sprintf("%032x", n+1), Min: 4}
		eves = append(eves, tagged(t, w, "eve", elastic.Tag{Spec: spec, Directive: elastic.Directive{Hold: true}}.String()))
	}
	w.At(time.Minute, func() {
		for _, id := range eves {
			away[id] = true
		}
	})
	var job *world.Trainer
	w.At(2*time.Minute, func() { job = w.Submit(world.Job{User: "alice", Spec: elastic.Spec{Min: 1, Max: 4, Total: 20}}) })
	_ = w.Drive(ctx, d, 2*time.Hour) // eve's jobs stay held
	if job.Done() < 20 || strings.Contains(d.log.String(), " blind: ") {
		t.Errorf("alice's job did %v of 20\n%s", job.Done(), d.log.String())
	}
}
