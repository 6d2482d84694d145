package world_test

import (
	"context"
	"math"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/engine"
	"github.com/sluice-hpc/sluice/elastic/engine/event"
	"github.com/sluice-hpc/sluice/elastic/engine/journal"
	"github.com/sluice-hpc/sluice/elastic/message"
	"github.com/sluice-hpc/sluice/elastic/metrics"
	"github.com/sluice-hpc/sluice/elastic/notify"
	"github.com/sluice-hpc/sluice/elastic/usage"
	"github.com/sluice-hpc/sluice/elastic/world"
	"github.com/sluice-hpc/sluice/elastic/world/records"
	"github.com/sluice-hpc/sluice/slurm"
	"github.com/sluice-hpc/sluice/slurm/fake"
)

// observed is a daemon whose events and reports become messages and metrics, as in sluiced.
type observed struct {
	*daemon
	watch   *notify.Watch
	metrics *metrics.Metrics
	sent    []notify.Send
}

// observe adds a watch and metrics to a daemon that boot makes.
func (o *observed) observe(t *testing.T, w *world.World) func(*engine.Config) {
	o.watch = notify.New(notify.Rules{Events: []string{"start"}, Digest: time.Hour}, "x", w.Now())
	var err error
	o.metrics, err = metrics.New("test", metrics.Options{})
	must(t, err)
	return func(c *engine.Config) {
		log := c.Events
		c.Events = func(e event.Event) { log(e); o.watch.Event(e); o.metrics.Event(e) }
	}
}

// Cycle is the engine's, and what sluiced does after it.
func (o *observed) Cycle(ctx context.Context, now time.Time) (time.Time, error) {
	wake, err := o.daemon.Cycle(ctx, now)
	if r := engine.Published(o.Engine); r != nil {
		o.sent = append(o.sent, o.watch.Cycle(r)...)
		o.metrics.Cycle(r, time.Second, err)
	}
	return wake, err
}

// metric returns the value of a line of a scrape; 0 if there is none.
func (o *observed) metric(t *testing.T, series string) float64 {
	t.Helper()
	answer := httptest.NewRecorder()
	o.metrics.Handler().ServeHTTP(answer, httptest.NewRequest("GET", "/metrics", nil))
	for line := range strings.Lines(answer.Body.String()) {
		if value, is := strings.CutPrefix(line, series+" "); is {
			n, err := strconv.ParseFloat(strings.TrimSpace(value), 64)
			must(t, err)
			return n
		}
	}
	return 0
}

// TestMailsWithoutResizes: of a job that is resized and then requeued by its user, the mails of --mail-type are one
// BEGIN and one REQUEUE, and --notify has one message for all resizes of an hour. The metrics of moves agree with
// what the journal has.
func TestMailsWithoutResizes(t *testing.T) {
	w := world.New(world.Config{Records: &records.Records{}, Fake: fake.Config{Seed: 1, Nodes: fake.Grid(3, 4)}})
	kept, o := new(journal.Memory), &observed{}
	o.daemon = boot(t, w, kept, "knapsack", o.observe(t, w))
	began := w.Now()
	a := w.Submit(world.Job{User: "alice", Spec: elastic.Spec{Min: 1, Max: 12, Total: 120}, Model: world.Amdahl(60, 0.05), Notices: elastic.Notices{Begin: true, Requeue: true, Mail: true}})
	w.At(100*time.Second, func() {
		w.Submit(world.Job{User: "bob", Spec: elastic.Spec{Min: 1, Max: 8, Total: 12}, Model: world.Amdahl(60, 0.05)})
	})
	w.At(200*time.Second, func() { w.Ordinary("carol", 1, 2, 4*time.Minute) })
	w.At(12*time.Minute, func() { must(t, w.User("alice").RequeueHold(t.Context(), slurm.JobID(a.ID()))) })
	w.At(13*time.Minute, func() { must(t, w.User("alice").Release(t.Context(), slurm.JobID(a.ID()))) })
	must(t, w.Drive(t.Context(), o, 5*time.Hour))
	for _, bad := range w.Check() {
		t.Error(bad)
	}
	counts := map[message.Code]int{}
	for _, s := range o.sent {
		if s.User != nil {
			counts[s.Code]++
		}
	}
	runs, err := kept.Segments(t.Context(), a.Token)
	must(t, err)
	if len(runs) < 4 {
		t.Fatalf("%d runs: the job was hardly resized", len(runs))
	}
	for code, want := range map[message.Code]int{message.SlurmBegan: 1, message.SlurmRequeued: 1, message.Start: 1, message.End: 1} {
		if counts[code] != want {
			t.Errorf("%d of %s, want %d", counts[code], code, want)
		}
	}
	if n := counts[message.Digest]; n > 2 {
		t.Errorf("%d digests", n)
	}
	o.agrees(t, kept, usage.Range{From: began, To: w.Now()})
	if t.Failed() {
		for _, s := range o.sent {
			t.Log(s.At.Sub(began), s.Code, s.Subject)
		}
		t.Log(o.log.String())
	}
}

// agrees compares counters with what a report of usage says.
func (o *observed) agrees(t *testing.T, kept *journal.Memory, in usage.Range) {
	t.Helper()
	jobs, err := kept.Jobs(t.Context(), time.Time{})
	must(t, err)
	var want usage.Figures
	for _, j := range jobs {
		runs, err := kept.Segments(t.Context(), j.Token)
		must(t, err)
		f := usage.Of(j, runs, in)
		want.Dead, want.Beyond, want.Ended = want.Dead+f.Dead, want.Beyond+f.Beyond, want.Ended+f.Ended
	}
	if got := o.metric(t, `sluice_jobs_ended_total{how="completed"}`); got != float64(want.Ended) || want.Ended == 0 {
		t.Errorf("%v jobs ended, the journal has %d", got, want.Ended)
	}
	if got := o.metric(t, "sluice_dead_gpu_seconds_total"); want.Dead == 0 || math.Abs(got-want.Dead) > 0.01*want.Dead {
		t.Errorf("%v GPU-seconds lost, the journal has %v", got, want.Dead)
	}
	// Gains are added up from report to report, and a run's end is in the next one.
	if got := o.metric(t, "sluice_gained_gpu_seconds_total"); want.Beyond == 0 || math.Abs(got-want.Beyond) > 0.1*want.Beyond {
		t.Errorf("%v GPU-seconds gained, the journal has %v", got, want.Beyond)
	}
}
