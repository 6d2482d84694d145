package main

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/control"
	"github.com/sluice-hpc/sluice/elastic/control/wire"
	"github.com/sluice-hpc/sluice/elastic/engine"
	"github.com/sluice-hpc/sluice/elastic/engine/event"
	"github.com/sluice-hpc/sluice/elastic/engine/publish"
	"github.com/sluice-hpc/sluice/elastic/feed"
	"github.com/sluice-hpc/sluice/elastic/reason"
	"github.com/sluice-hpc/sluice/elastic/say"
)

// mostText bounds the text of an event in the stream, in bytes. Texts may have users' words in them.
const mostText = 1000

// stream passes what happens to readers of the API. Its methods are called on the engine's goroutine,
// except those of the feed.
type stream struct {
	feed    *feed.Feed
	changes publish.Changes
}

// open says which events without a job every user may read, as views show the same to all: whether
// Slurm answers, and which nodes are fit. All others are for operators.
var open = map[string]bool{"blind": true, "sighted": true, "health": true, "shares": true, "starts": true, "stops": true}

// add appends an event with its id.
func (s *stream) add(h wire.Happening, access feed.Access, uid uint32) {
	if len(h.Text) > mostText {
		h.Text = strings.ToValidUTF8(h.Text[:mostText], "") + " ..."
	}
	s.feed.Add(h.Kind, access, uid, func(id string) []byte {
		h.ID = id
		raw, err := json.Marshal(h)
		if err != nil {
			return nil // it has nothing that cannot be written
		}
		return raw
	})
}

// event passes an event of the engine's log.
func (d *daemon) streamEvent(e event.Event) {
	h := wire.Happening{At: e.At, Kind: e.Kind, Text: e.Text, JobID: int64(e.Job), Move: string(e.Move), Target: e.Target, Incarnation: e.Incarnation,
		Step: e.Step, Checkpoint: e.Checkpoint, Act: e.Act, Outcome: string(e.Outcome), On: e.On, State: e.State, Run: e.Run, Problem: e.Problem}
	d.streamTold(h)
}

// streamTold adds whose job an event is about, and who may read it. It MUST be called on the engine's
// goroutine.
func (d *daemon) streamTold(h wire.Happening) {
	if d.stream.feed == nil {
		return
	}
	access, uid := feed.Operators, uint32(0)
	if h.JobID == 0 && open[h.Kind] {
		access = feed.Everyone
	}
	if h.JobID != 0 {
		if of, known := engine.Whose(d.engine, elastic.JobID(h.JobID)); known {
			h.Name, h.User, h.Partition, access, uid = of.Name, of.Owner.User, of.Partition, feed.OfUser, of.Owner.UID
		}
	}
	d.stream.add(h, access, uid)
}

// streamOrder passes an order, also one that failed. It MUST be called on the engine's goroutine.
func (d *daemon) streamOrder(caller control.Caller, job elastic.JobID, change wire.Change, result error) {
	h := wire.Happening{At: time.Now(), Kind: "order", JobID: int64(job), Order: change.String(), By: caller.Name, Text: change.String() + " by " + caller.Name}
	if caller.Via != "" {
		h.Text += " through " + caller.Via
	}
	if result != nil {
		h.Text += ": " + result.Error()
	}
	d.streamTold(h)
}

// streamCycle passes what a cycle changed, and that it has ended.
func (d *daemon) streamCycle() {
	r := engine.Published(d.engine)
	if r == nil {
		return
	}
	list, print := d.stream.changes.Note(r)
	d.keepCycle(r, list)
	for _, c := range list {
		d.stream.add(happeningOf(c, r.At), feed.OfUser, c.Job.Owner.UID)
	}
	d.stream.add(wire.Happening{At: r.At, Kind: wire.KindCycle, Print: fmt.Sprintf("%016x", print)}, feed.Everyone, 0)
}

// happeningOf is a change between two reports as an event.
func happeningOf(c publish.Change, at time.Time) wire.Happening {
	h := wire.Happening{At: at, Kind: string(c.Kind), JobID: int64(c.Job.ID), Name: c.Job.Name, User: c.Job.Owner.User, Partition: c.Job.Partition}
	if c.Target.GPUs() > 0 {
		h.Target, h.GPUs = c.Target.String(), c.Target.GPUs()
	}
	switch c.Kind {
	case publish.Started:
		run := c.Run
		h.Run, h.Text = &run, fmt.Sprintf("runs on %s", c.Target)
	case publish.Decision:
		h.Why, h.Text = reason.Value{Reason: c.Why}, say.Reason(c.Why, at)
	case publish.Submitted:
		h.Text = "is managed by sluice"
	}
	return h
}
