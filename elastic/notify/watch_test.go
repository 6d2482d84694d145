package notify

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/engine/event"
	"github.com/sluice-hpc/sluice/elastic/engine/journal"
	"github.com/sluice-hpc/sluice/elastic/engine/publish"
	"github.com/sluice-hpc/sluice/elastic/message"
	"github.com/sluice-hpc/sluice/nodes"
)

var noon = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)

// cluster is a watch with one job, whose reports a test changes.
type cluster struct {
	t *testing.T
	*Watch
	jr     publish.JobReport
	health []elastic.Finding
	now    time.Time
}

func newCluster(t *testing.T, n elastic.Notices, events ...string) *cluster {
	c := &cluster{t: t, Watch: New(Rules{Events: events, Digest: time.Hour}, "x", noon), now: noon}
	c.jr = publish.JobReport{Job: &elastic.Job{ID: 7, Phase: elastic.Waiting}, Record: journal.JobRecord{
		Token: "t", Identity: journal.Identity{ID: 7, Name: "train", Owner: elastic.Owner{User: "ann", UID: 1}, SlurmUID: 1}, Tag: elastic.Tag{Notices: n}, Life: journal.Life{Submitted: noon}}}
	return c
}

// after lets time pass and returns the messages of the next report, in one line each.
func (c *cluster) after(d time.Duration) []string {
	c.now = c.now.Add(d)
	var got []string
	for _, s := range c.Cycle(&publish.Report{At: c.now, Jobs: []publish.JobReport{c.jr}, Health: c.health}) {
		got = append(got, said(s))
	}
	return got
}

func said(s Send) string {
	var to []string
	if s.Site {
		to = append(to, "site")
	}
	if s.User != nil && s.User.Mail {
		to = append(to, "mail "+s.User.To)
	}
	if s.User != nil && s.User.Webhook {
		to = append(to, "webhook")
	}
	return fmt.Sprintf("%s to %s: %s", s.Code, strings.Join(to, ", "), s.Subject)
}

func (c *cluster) run(gpus int) {
	place := nodes.Placement{{Node: "n1", GPUs: gpus}}
	c.jr.Job = &elastic.Job{ID: 7, Phase: elastic.Running, Place: place}
	if c.jr.Record.FirstRun.IsZero() {
		c.jr.Record.FirstRun = c.now
	}
}

func (c *cluster) wants(got []string, want ...string) {
	c.t.Helper()
	if !slices.Equal(got, want) {
		c.t.Errorf("got  %q\nwant %q", got, want)
	}
}

// resize is a move that ends before the next report.
func (c *cluster) resize(gpus int) {
	c.Event(event.Event{Job: 7, Kind: "open", Fields: event.Fields{Move: elastic.Resize}})
	c.Event(event.Event{Job: 7, Kind: "close", Fields: event.Fields{Outcome: elastic.Done}})
	c.run(gpus)
}

// TestLife: the messages of a job's life, each once; resizes are told of together.
func TestLife(t *testing.T) {
	c := newCluster(t, elastic.Notices{Mail: true, Webhook: true, To: "a@b.c"}, "failure")
	c.wants(c.after(time.Minute))
	c.now = c.now.Add(time.Minute)
	c.run(1)
	c.wants(c.after(0), "start to mail a@b.c, webhook: job 7 (train) runs on 1 GPU after waiting 2m0s")
	c.wants(c.after(time.Minute))
	for _, gpus := range []int{2, 4, 8} {
		c.resize(gpus)
		c.wants(c.after(10 * time.Minute))
	}
	c.wants(c.after(39 * time.Minute))
	c.wants(c.after(time.Minute), "digest to mail a@b.c, webhook: job 7 (train) was resized 3 times; it has 8 GPUs")
	c.wants(c.after(5 * time.Hour))
	c.resize(4)
	c.wants(c.after(time.Minute))
	c.jr.Ended, c.jr.Job, c.jr.Ending = true, new(elastic.Job), journal.Ending{How: journal.Failed, Code: 3}
	c.jr.Record.Ended = c.now
	c.Event(event.Event{Job: 7, Kind: "ended"})
	c.wants(c.after(time.Minute), "failure to site, mail a@b.c, webhook: job 7 (train) failed: exit code 3")
	c.wants(c.after(48 * time.Hour))
}

// TestConfined: the owner of a confined job is told; the URL is in a folder of the user that Slurm shows.
func TestConfined(t *testing.T) {
	c := newCluster(t, elastic.Notices{Mail: true, Webhook: true})
	c.jr.Record.SlurmUID = 4000
	c.after(time.Minute)
	c.now = c.now.Add(time.Minute)
	c.run(1)
	told := c.Cycle(&publish.Report{At: c.now, Jobs: []publish.JobReport{c.jr}})
	if len(told) == 0 {
		t.Fatal("nothing was told")
	}
	if s := told[0]; s.User == nil || s.User.To != "ann" || s.User.Owner != 1 || s.User.SlurmUID != 4000 || s.Job.User != "ann" || s.Job.UID != 1 {
		t.Errorf("%+v to %+v", s.Job, s.User)
	}
}

// TestDigest: the list of resizes is bounded, and says what it leaves out.
func TestDigest(t *testing.T) {
	c := newCluster(t, elastic.Notices{Mail: true})
	c.run(1)
	c.after(time.Second)
	for i := range message.MostMoves + 10 {
		c.resize(2 + i%2)
		c.after(time.Second)
	}
	c.now = c.now.Add(time.Hour)
	sends := c.Cycle(&publish.Report{At: c.now, Jobs: []publish.JobReport{c.jr}})
	if len(sends) != 1 || len(sends[0].Moves) != message.MostMoves || sends[0].Resizes != message.MostMoves+10 || !strings.Contains(sends[0].Text, "10 earlier resizes are not listed") {
		t.Errorf("%+v", sends)
	}
	if m := sends[0].Moves; m[0].From == m[0].To || sends[0].User.To != "ann" {
		t.Errorf("%+v to %+v", m[0], sends[0].User)
	}
}

// TestSizesOfMoves: a report in the middle of a move does not change what the move began with.
func TestSizesOfMoves(t *testing.T) {
	c := newCluster(t, elastic.Notices{Mail: true})
	c.run(1)
	c.after(time.Second)
	c.Event(event.Event{Job: 7, Kind: "open", Fields: event.Fields{Move: elastic.Resize}})
	c.jr.Intent = &elastic.Intent{Kind: elastic.Resize}
	c.jr.Job = &elastic.Job{ID: 7, Phase: elastic.Waiting}
	c.wants(c.after(time.Second))
	c.run(4)
	c.wants(c.after(time.Second))
	c.Event(event.Event{Job: 7, Kind: "close", Fields: event.Fields{Outcome: elastic.Done}})
	c.jr.Intent = nil
	c.wants(c.after(time.Second))
	c.now = c.now.Add(time.Hour)
	sends := c.Cycle(&publish.Report{At: c.now, Jobs: []publish.JobReport{c.jr}})
	if len(sends) != 1 || len(sends[0].Moves) != 1 || sends[0].Moves[0].From != 1 || sends[0].Moves[0].To != 4 {
		t.Errorf("%+v", sends)
	}
}

// TestNobodyAsked: without a choice of the site or the user nothing is sent.
func TestNobodyAsked(t *testing.T) {
	c := newCluster(t, elastic.Notices{})
	c.run(1)
	c.wants(c.after(time.Second))
	c.resize(3)
	c.wants(c.after(2 * time.Hour))
	c.Event(event.Event{Job: 7, Kind: "ended"})
	c.jr.Ended = true
	c.wants(c.after(time.Second))
}

// TestRestart: a sluiced that starts again tells nothing that the one before told, and what happened meanwhile.
func TestRestart(t *testing.T) {
	old := newCluster(t, elastic.Notices{Begin: true, Mail: true}, "start")
	old.jr.Record.FirstRun = noon.Add(-time.Hour)
	old.run(2)
	old.wants(old.after(time.Second))
	old.wants(old.after(time.Hour))

	meanwhile := newCluster(t, elastic.Notices{Begin: true}, "start")
	meanwhile.now = noon.Add(time.Second)
	meanwhile.run(2) // the record says when this sluiced saw it first
	meanwhile.wants(meanwhile.after(0), "slurm_began to mail ann: Slurm Job_id=7 Name=train Began, Queued time 00:00:01", "start to site: job 7 (train) runs on 2 GPUs after waiting 1s")

	ended := newCluster(t, elastic.Notices{Mail: true})
	ended.jr.Ended, ended.jr.Ending = true, journal.Ending{How: journal.Completed}
	ended.jr.Record.FirstRun = noon.Add(-time.Hour)
	ended.wants(ended.after(time.Second)) // no event: the one before saw it
	ended.Event(event.Event{Job: 7, Kind: "ended"})
	ended.wants(ended.after(time.Second), "end to mail ann: job 7 (train) completed: exit code 0")
}

// TestMailType: BEGIN comes at the first start only, REQUEUE only where sluice did not requeue the job.
func TestMailType(t *testing.T) {
	c := newCluster(t, elastic.Notices{Begin: true, Requeue: true})
	c.now = noon.Add(100000 * time.Second)
	c.run(1)
	c.wants(c.after(0), "slurm_began to mail ann: Slurm Job_id=7 Name=train Began, Queued time 1-03:46:40")
	// A resize: asked, stopped, waiting, running.
	c.Event(event.Event{Job: 7, Kind: "open", Fields: event.Fields{Move: elastic.Resize}})
	c.jr.Intent = &elastic.Intent{Kind: elastic.Resize}
	c.wants(c.after(time.Second))
	for _, phase := range []elastic.Phase{elastic.Completing, elastic.Waiting, elastic.Queued} {
		c.jr.Job = &elastic.Job{ID: 7, Phase: phase}
		c.wants(c.after(time.Second))
	}
	c.Event(event.Event{Job: 7, Kind: "close", Fields: event.Fields{Outcome: elastic.Done}})
	c.jr.Intent = nil
	c.run(4)
	c.wants(c.after(time.Second))
	// Parked by sluice, within one cycle.
	c.Event(event.Event{Job: 7, Kind: "open", Fields: event.Fields{Move: elastic.Park}})
	c.Event(event.Event{Job: 7, Kind: "close", Fields: event.Fields{Outcome: elastic.Done}})
	c.jr.Job = &elastic.Job{ID: 7, Phase: elastic.Waiting}
	c.wants(c.after(time.Second))
	c.run(4)
	c.wants(c.after(time.Second))
	// Requeued by its user.
	c.jr.Job = &elastic.Job{ID: 7, Phase: elastic.Completing}
	c.wants(c.after(time.Minute))
	c.jr.Job = &elastic.Job{ID: 7, Phase: elastic.Waiting}
	c.wants(c.after(time.Second), "slurm_requeued to mail ann: Slurm Job_id=7 Name=train Requeued, Run time 00:01:01")
	c.wants(c.after(time.Second))
	// And again, so fast that no report shows it waiting; then a resize as fast.
	c.run(4)
	c.wants(c.after(time.Second))
	c.jr.Record.Restarts++
	c.wants(c.after(time.Minute), "slurm_requeued to mail ann: Slurm Job_id=7 Name=train Requeued, Run time 00:01:00")
	c.jr.Record.Restarts++
	c.resize(2)
	c.wants(c.after(time.Minute))
}

// TestSecondLife: a job that its user requeues after its end, or whose end is corrected by accounting, has
// begun before.
func TestSecondLife(t *testing.T) {
	c := newCluster(t, elastic.Notices{Begin: true, Requeue: true, Mail: true})
	c.now = noon.Add(time.Minute)
	c.run(1)
	c.wants(c.after(0), "slurm_began to mail ann: Slurm Job_id=7 Name=train Began, Queued time 00:01:00",
		"start to mail ann: job 7 (train) runs on 1 GPU after waiting 1m0s")
	end := func(how journal.How) {
		c.jr.Ended, c.jr.Job, c.jr.Ending = true, new(elastic.Job), journal.Ending{How: how, Ran: true}
		c.jr.Record.Ended = c.now
		c.Event(event.Event{Job: 7, Kind: "ended"})
	}
	end(journal.Cancelled)
	c.wants(c.after(time.Minute), "end to mail ann: job 7 (train) cancelled")
	c.wants(c.after(time.Minute))
	c.jr.Ended, c.jr.Ending, c.jr.Record.Ended = false, journal.Ending{}, time.Time{}
	c.jr.Job = &elastic.Job{ID: 7, Phase: elastic.Waiting}
	c.wants(c.after(time.Minute))
	c.run(2)
	c.wants(c.after(time.Minute))
	end(journal.Forgotten)
	c.wants(c.after(time.Minute), "end to mail ann: job 7 (train) ended; Slurm no longer knows how")
	c.wants(c.after(time.Hour))
	end(journal.Completed)
	c.wants(c.after(time.Minute), "end to mail ann: job 7 (train) completed: exit code 0")
	c.wants(c.after(time.Minute))
}

// TestDeadline: an admitted deadline is told of once it was in doubt for some time, and once if it is broken.
func TestDeadline(t *testing.T) {
	c := newCluster(t, elastic.Notices{}, "deadline")
	c.run(1)
	c.jr.Record.Tag.Spec.Deadline, c.jr.Record.Promised = noon.Add(time.Hour), true
	c.jr.Due, c.jr.Ends = elastic.DueUnmet, noon.Add(2*time.Hour)
	c.wants(c.after(time.Second))
	c.jr.Due = elastic.DuePromised
	c.wants(c.after(5 * time.Minute))
	c.jr.Due = elastic.DueUnmet
	c.wants(c.after(time.Second))
	c.wants(c.after(2*time.Minute), "deadline to site: job 7 (train) may not end by its deadline 2026-01-02T13:00:00Z")
	c.wants(c.after(time.Minute))
	c.wants(c.after(time.Hour), "deadline to site: job 7 (train) has not ended by its deadline 2026-01-02T13:00:00Z")
	c.wants(c.after(time.Hour))
}

// TestCluster: nodes and outages are told of when they begin and end, outages once they last.
func TestCluster(t *testing.T) {
	c := newCluster(t, elastic.Notices{Mail: true}, "unfit", "blind")
	c.health = []elastic.Finding{{Node: "n1", Excluded: true, Why: "x"}}
	c.wants(c.after(time.Second)) // so it was before this sluiced
	c.health = append(c.health, elastic.Finding{Node: "n2", Excluded: true, Why: "XID 79\n"}, elastic.Finding{Node: "n3"})
	c.wants(c.after(time.Second), "unfit to site: node n2 gets no new job: XID 79?")
	c.health = c.health[:1]
	c.wants(c.after(time.Second), "unfit to site: node n2 is used again")

	blind := func(d time.Duration) (got []string) {
		for _, s := range c.Cycle(&publish.Report{At: c.now, Blind: "squeue: timed out", BlindFor: d, Jobs: []publish.JobReport{c.jr}}) {
			got = append(got, said(s))
		}
		return got
	}
	c.wants(blind(time.Minute))
	c.wants(c.after(time.Minute))
	c.wants(blind(3*time.Minute), "blind to site: Slurm has not answered sluiced for 3m0s; nothing is resized meanwhile")
	c.wants(blind(4 * time.Minute))
	c.wants(c.after(5*time.Minute), "blind to site: Slurm answers sluiced again after 5m0s")
}

// TestSameReport: a cycle that published none repeats nothing and forgets nothing.
func TestSameReport(t *testing.T) {
	c := newCluster(t, elastic.Notices{Mail: true})
	c.run(1)
	c.after(time.Second)
	c.Event(event.Event{Job: 7, Kind: "ended"})
	c.wants(c.after(0))
	c.jr.Ended, c.jr.Job, c.jr.Ending = true, new(elastic.Job), journal.Ending{How: journal.Cancelled, Ran: true}
	c.wants(c.after(time.Second), "end to mail ann: job 7 (train) cancelled")
}

// TestIDs: no two messages have one id.
func TestIDs(t *testing.T) {
	seen := map[string]bool{}
	c := newCluster(t, elastic.Notices{Begin: true, Mail: true}, "start", "end")
	c.run(1)
	c.now = noon.Add(time.Second)
	for _, s := range c.Cycle(&publish.Report{At: c.now, Jobs: []publish.JobReport{c.jr}}) {
		if seen[s.ID] || s.Version != message.Version || !strings.HasPrefix(s.ID, "x-") {
			t.Errorf("%+v", s.Message)
		}
		seen[s.ID] = true
	}
	if len(seen) != 2 {
		t.Errorf("%d messages", len(seen))
	}
}
