package world_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/sluice-hpc/sluice/checkpoint"
	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/engine"
	"github.com/sluice-hpc/sluice/elastic/engine/journal"
	"github.com/sluice-hpc/sluice/elastic/engine/observe"
	"github.com/sluice-hpc/sluice/elastic/world"
	"github.com/sluice-hpc/sluice/elastic/world/records"
	"github.com/sluice-hpc/sluice/slurm/fake"
)

// hang makes every operation on the jobs' folders return an Unanswered from now on. It returns a function
// that ends that.
func (d *daemon) hang(jobs ...*world.Trainer) (end func()) {
	since := map[string]time.Time{}
	tokens := map[string]bool{}
	for _, j := range jobs {
		tokens[j.Token] = true
	}
	d.w.Mail.Fault = func(_, token string) error {
		if !tokens[token] {
			return nil
		}
		if since[token].IsZero() {
			since[token] = d.w.Now()
		}
		return &observe.Unanswered{Since: since[token]}
	}
	return func() { d.w.Mail.Fault = nil }
}

func (d *daemon) pin(t *testing.T, job *world.Trainer, gpus int) {
	t.Helper()
	err := d.Direct(context.Background(), elastic.JobID(job.ID()), func(was elastic.Directive) elastic.Directive { was.Pin = gpus; return was })
	if err != nil {
		t.Fatal(err)
	}
}

// TestHungFoldersJobKeepsItsSize: a job whose folder does not answer gets no requests and keeps its size,
// its report says so, and other jobs are not affected. It takes part again once the folder
// answers.
func TestHungFoldersJobKeepsItsSize(t *testing.T) {
	w := world.New(world.Config{Records: &records.Records{}, Fake: fake.Config{Seed: 1, Nodes: fake.Grid(2, 4)}})
	d := boot(t, w, new(journal.Memory), "knapsack")
	submit := func(user string) *world.Trainer {
		return w.Submit(world.Job{User: user, Spec: elastic.Spec{Min: 1, Max: 4, Total: 200}, Model: world.Amdahl(60, 0.02)})
	}
	hung, other := submit("alice"), submit("bob")
	d.drive(t, 5*time.Minute)
	size := d.of(t, hung).Job.GPUs()
	if size != 4 {
		t.Fatalf("the job has %d GPUs", size)
	}
	end := d.hang(hung)
	d.drive(t, time.Minute)
	said := len(d.log.String())
	late := submit("carol")
	d.pin(t, hung, 2)
	d.drive(t, 5*time.Minute)
	jr := d.of(t, hung)
	if jr.Job.GPUs() != size || !strings.Contains(sentence(jr.Why), "stays at 4 GPUs: its folder has not answered since") {
		t.Errorf("the job has %d GPUs: %s", jr.Job.GPUs(), sentence(jr.Why))
	}
	if !strings.Contains(strings.Join(jr.Problems, "\n"), "its folder has not answered since") || len(jr.Problems) != 1 {
		t.Errorf("problems: %q", jr.Problems)
	}
	if now := d.log.String()[said:]; strings.Contains(now, "ask job 1") || strings.Contains(now, "job 1 open") {
		t.Errorf("it was acted on:\n%s", now)
	}
	if a, b := d.of(t, late).Job.GPUs(), d.of(t, other).Job.GPUs(); a < 1 || a+b != 4 {
		t.Errorf("the new job has %d GPUs, the other %d", a, b)
	}
	if got := strings.Count(d.log.String(), "its folder has not answered"); got != 1 {
		t.Errorf("it was logged %d times", got)
	}
	end()
	d.drive(t, 5*time.Minute)
	if jr := d.of(t, hung); len(jr.Problems) > 0 || jr.Job.GPUs() != 2 {
		t.Errorf("after it answers again it has %d GPUs, problems %q", jr.Job.GPUs(), jr.Problems)
	}
	if !strings.Contains(d.log.String(), "its folder answers again after") {
		t.Error("its end was not told")
	}
}

// TestHungFolderKeepsNoGPUs: a job whose target could not be written is not started and holds no GPUs.
// Once its folder answers it starts.
func TestHungFolderKeepsNoGPUs(t *testing.T) {
	w := world.New(world.Config{Records: &records.Records{}, Fake: fake.Config{Seed: 1, Nodes: fake.Grid(1, 4)}})
	d := boot(t, w, new(journal.Memory), "knapsack")
	hung := w.Submit(world.Job{User: "alice", Spec: elastic.Spec{Min: 4, Max: 4, Total: 5}})
	begun := false
	w.Mail.Fault = func(op, token string) error { // it is adopted, and hangs from then on
		if token != hung.Token || !begun && op == "runner" {
			return nil
		}
		begun = true
		return &observe.Unanswered{Since: w.Now().Truncate(10 * time.Minute)}
	}
	w.Advance(30 * time.Second)
	d.drive(t, 40*time.Second)
	other := w.Submit(world.Job{User: "bob", Spec: elastic.Spec{Min: 4, Max: 4, Total: 20}})
	d.drive(t, 2*time.Minute)
	jr := d.of(t, hung)
	if jr.Intent != nil || !strings.Contains(sentence(jr.Why), "waiting: its folder has not answered since") {
		t.Errorf("open move %v: %s", jr.Intent, sentence(jr.Why))
	}
	if jr := d.of(t, other); jr.Job.GPUs() != 4 {
		t.Errorf("the other has %d GPUs: %s", jr.Job.GPUs(), sentence(jr.Why))
	}
	w.Mail.Fault = nil
	if err := w.Drive(context.Background(), d, 4*time.Hour); err != nil {
		t.Error(err)
	}
	for _, bad := range w.Check() {
		t.Error(bad)
	}
	if !hung.Ended() || !other.Ended() {
		t.Errorf("not all ended:\n%s", d.log.String())
	}
}

// TestHungInTheMiddleOfAMove: a job is asked, and its folder hangs before it answers or before it is
// stopped. It keeps its size, is not stopped without a check of its answer, and does not count as
// deaf.
func TestHungInTheMiddleOfAMove(t *testing.T) {
	for _, at := range []string{"runner", "now"} {
		t.Run(at, func(t *testing.T) {
			w := world.New(world.Config{Records: &records.Records{}, Fake: fake.Config{Seed: 1, Nodes: fake.Grid(2, 4)}})
			d := boot(t, w, new(journal.Memory), "knapsack", func(c *engine.Config) { c.Mailbox = lateMail{c.Mailbox.(*world.Mailbox), at} })
			job := w.Submit(world.Job{User: "alice", Spec: elastic.Spec{Min: 1, Max: 4, Total: 200}, Model: world.Amdahl(60, 0.02)})
			d.drive(t, 3*time.Minute)
			asked := false
			var since time.Time
			w.Mail.Fault = func(op, token string) error {
				asked = asked || op == "ask"
				if token != job.Token || !asked || op == "ask" || at == "now" && op != "now" && since.IsZero() {
					return nil
				}
				if since.IsZero() {
					since = w.Now()
				}
				return &observe.Unanswered{Since: since}
			}
			size := d.of(t, job).Job.GPUs()
			d.pin(t, job, 2)
			d.drive(t, 5*time.Minute)
			jr := d.of(t, job)
			if since.IsZero() || jr.Job.GPUs() != size || jr.Intent != nil || jr.Record.Deaf != 0 || jr.Job.Restarts != 0 {
				t.Errorf("hung since %v, %d GPUs (before: %d), move %v, deaf %d\n%s", since, jr.Job.GPUs(), size, jr.Intent, jr.Record.Deaf, d.log.String())
			}
			w.Mail.Fault = nil
			if err := w.Drive(context.Background(), d, 12*time.Hour); err != nil {
				t.Error(err)
			}
			for _, bad := range w.Check() {
				t.Error(bad)
			}
			if !job.Ended() {
				t.Error("it never ended")
			}
		})
	}
}

// lateMail calls its Fault with "now" for the check right before a stop.
type lateMail struct {
	*world.Mailbox
	at string
}

func (m lateMail) RunnerNow(token string, uid uint32) (r checkpoint.Runner, ok bool, err error) {
	if m.Fault != nil {
		if err := m.Fault("now", token); err != nil {
			return r, false, err
		}
	}
	return m.Runner(token, uid)
}
