package engine

import (
	"context"
	"testing"
	"time"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/nodes"
	"github.com/sluice-hpc/sluice/slurm"
)

// TestPlaceIsOfTheRunThatSlurmShows: the place on record is that of the present run only
// where restart count, start, nodes and GPUs all agree.
func TestPlaceIsOfTheRunThatSlurmShows(t *testing.T) {
	start := time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		name   string
		change func(*slurm.Job)
		want   bool
	}{
		{"the same run", func(*slurm.Job) {}, true},
		{"a later restart count", func(sj *slurm.Job) { sj.Restarts++ }, false},
		{"the same count, given to a later run", func(sj *slurm.Job) { sj.Start = start.Add(time.Minute) }, false},
		{"other nodes", func(sj *slurm.Job) { sj.Nodes = []string{"g3"} }, false},
		{"another number of GPUs", func(sj *slurm.Job) { sj.GPUs = 4 }, false},
	} {
		js := &jobState{rec: JobRecord{Restarts: 1, Place: nodes.Placement{{Node: "g1", GPUs: 2}, {Node: "g2", GPUs: 1}}}}
		js.shown.placed = start
		js.shown.slurm = slurm.Job{ID: 5, State: slurm.Running, Restarts: 1, Start: start, Nodes: []string{"g1", "g2"}, GPUs: 3}
		c.change(&js.shown.slurm)
		if is := js.placeKnown(); is != c.want {
			t.Errorf("%s: place known: %t, want %t", c.name, is, c.want)
		}
	}
}

// TestPlaceIsAskedAgainAfterAnOutage: how long the place of a run may stay unread counts from
// the end of an outage, since slurmctld could not be asked meanwhile. A move of the job does not
// end before that.
func TestPlaceIsAskedAgainAfterAnOutage(t *testing.T) {
	e, _, now := crowded()
	e.cfg.Limits.Confirm = time.Minute
	js := e.byID[6]
	js.shown.slurm.Restarts++ // a run whose place has not been read
	js.shown.placeless = now.Add(-10 * time.Minute)
	in := elastic.Intent{Job: 6, Kind: elastic.Resize, Step: elastic.Released}
	if e.unread(in, now) {
		t.Fatal("without an outage the place is waited for without end")
	}
	e.blind.why, e.blind.since = "squeue: timed out", now.Add(-9*time.Minute)
	e.sighted(now)
	if !e.unread(in, now) {
		t.Error("right after the outage the place of the run before counts as this run's")
	}
	if e.unread(in, now.Add(e.cfg.Limits.Confirm)) {
		t.Error("after Confirm the place is still waited for")
	}
}

// withdrawals is a mailbox that counts requests withdrawn.
type withdrawals struct {
	Mailbox
	n int
}

func (w *withdrawals) Withdraw(string) error { w.n++; return nil }

// TestRequestStandsWhileAStopMayCome: the user removed the tag of a job that Slurm was asked to
// stop, without an answer. Its request is withdrawn only once the stop cannot come any more:
// what the job trained until then would be lost.
func TestRequestStandsWhileAStopMayCome(t *testing.T) {
	e, _, now := crowded()
	mail := new(withdrawals)
	e.cfg.Mailbox = mail
	js := e.byID[6]
	js.shown.disown = true
	in := elastic.Intent{Job: 6, Kind: elastic.Resize, Step: elastic.Verified, RequeuedAt: now}
	opened, err := e.cfg.Journal.Intend(context.Background(), []elastic.Intent{in})
	if err != nil {
		t.Fatal(err)
	}
	in = opened[0]
	if e.letGo(context.Background(), js, in, now.Add(time.Second)) || mail.n > 0 {
		t.Errorf("%d requests withdrawn 1 s after the stop was asked for", mail.n)
	}
	if later := now.Add(time.Minute); !e.letGo(context.Background(), js, in, later) || mail.n != 1 {
		t.Errorf("%d requests withdrawn once the stop cannot come any more, want 1", mail.n)
	}
}
