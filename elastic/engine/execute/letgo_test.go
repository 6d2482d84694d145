package execute

import (
	"context"
	"testing"
	"time"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/engine/event"
	"github.com/sluice-hpc/sluice/elastic/engine/journal"
	"github.com/sluice-hpc/sluice/elastic/engine/observe"
	"github.com/sluice-hpc/sluice/elastic/engine/track"
	"github.com/sluice-hpc/sluice/slurm"
)

// withdrawals is a mailbox that counts requests withdrawn.
type withdrawals struct {
	observe.Mailbox
	n int
}

func (w *withdrawals) Withdraw(string) error { w.n++; return nil }

// TestRequestStandsWhileAStopMayCome: the user removes the tag of a job whose stop Slurm has not
// answered. The request is withdrawn only once the stop can no longer be carried out, because
// work that the job did until then would be lost.
func TestRequestStandsWhileAStopMayCome(t *testing.T) {
	now := time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)
	kept, mail := new(journal.Memory), new(withdrawals)
	x := Executor{State: track.New(track.Rules{}, kept, func(event.Event) {}), Journal: kept, Mail: mail}
	js := &track.Job{Rec: journal.JobRecord{Token: "t6", Identity: journal.Identity{ID: 6, Owner: elastic.Owner{UID: 7}, SlurmUID: 7}}}
	x.Remember(js)
	js.Shown.Disown, js.Shown.Slurm = true, slurm.Job{ID: 6, UID: 7, State: slurm.Running}
	opened, err := kept.Intend(context.Background(), []elastic.Intent{{Job: 6, Kind: elastic.Resize, Step: elastic.Verified, RequeuedAt: now}})
	if err != nil {
		t.Fatal(err)
	}
	in := opened[0]
	if x.letGo(context.Background(), js, in, now.Add(time.Second)) || mail.n > 0 {
		t.Errorf("%d requests withdrawn 1 s after the stop was asked for", mail.n)
	}
	if later := now.Add(time.Minute); !x.letGo(context.Background(), js, in, later) || mail.n != 1 {
		t.Errorf("%d requests withdrawn once the stop cannot come any more, want 1", mail.n)
	}
}
