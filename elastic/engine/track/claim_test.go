package track

import (
	"testing"
	"time"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/engine/event"
	"github.com/sluice-hpc/sluice/elastic/engine/journal"
	"github.com/sluice-hpc/sluice/slurm"
)

// TestMine: a job outside the partitions is managed only if it is a known job of the same number and
// user that has not ended.
func TestMine(t *testing.T) {
	inside := func(sj slurm.Job) bool { return sj.Partition == "gpu" }
	for _, c := range []struct {
		name  string
		in    func(slurm.Job) bool
		job   slurm.Job
		ended bool
		want  bool
	}{
		{name: "in a partition", in: inside, job: slurm.Job{ID: 8, UID: 1001, Partition: "gpu"}, want: true},
		{name: "every partition", job: slurm.Job{ID: 8, UID: 1001, Partition: "cpu"}, want: true},
		{name: "moved out by its user", in: inside, job: slurm.Job{ID: 7, UID: 1000, Partition: "cpu"}, want: true},
		{name: "another user's, with its number", in: inside, job: slurm.Job{ID: 7, UID: 1001, Partition: "cpu"}},
		{name: "of a job that ended", in: inside, job: slurm.Job{ID: 7, UID: 1000, Partition: "cpu"}, ended: true},
		{name: "not known", in: inside, job: slurm.Job{ID: 8, UID: 1000, Partition: "cpu"}},
	} {
		e := New(Rules{Mine: c.in}, nil, nil)
		js := &Job{Rec: journal.JobRecord{Token: "t", Identity: journal.Identity{ID: 7, Owner: elastic.Owner{UID: 1000}, SlurmUID: 1000}}}
		if c.ended {
			js.Rec.Ended = time.Unix(1, 0)
		}
		e.Remember(js)
		if got := e.Mine(c.job); got != c.want {
			t.Errorf("%s: %v", c.name, got)
		}
	}
}

// TestAnother: it is another job with the same number if its user is another, or if it was submitted
// later with another token. A change of the comment alone does not make it another job.
func TestAnother(t *testing.T) {
	const own, other = "sluice/1 id=0123456789abcdef0123456789abcdef inc=0 min=1", "sluice/1 id=0123456789abcdef0123456789abcdee inc=0 min=1"
	submitted := time.Unix(1000, 0)
	js := &Job{Rec: journal.JobRecord{Token: "0123456789abcdef0123456789abcdef", Identity: journal.Identity{ID: 7, Owner: elastic.Owner{UID: 5}, SlurmUID: 5}, Life: journal.Life{Submitted: submitted}}}
	for _, c := range []struct {
		comment string
		uid     uint32
		later   time.Duration
		want    bool
	}{
		{own, 5, 0, false},
		{own, 6, 0, true},
		{other, 5, 0, false},
		{other, 5, time.Hour, true},
		{"sluice/1 id=0123456789abcdef0123456789abcdee inc=0 min=x", 5, time.Hour, false},
		{"", 5, 0, false},
	} {
		sj := slurm.Job{ID: 7, UID: c.uid, Comment: c.comment, State: slurm.Running, Submit: submitted.Add(c.later)}
		if got := Another(js, sj); got != c.want {
			t.Errorf("%+v: %v", c, got)
		}
	}
}

// TestLeftAloneIsSaidOnce: the reason why a job is not managed is logged when the job is found and when
// the reason changes, not in every cycle.
func TestLeftAloneIsSaidOnce(t *testing.T) {
	var said []string
	e := New(Rules{}, nil, func(ev event.Event) { said = append(said, ev.Text) })
	for _, why := range []string{"a", "a", "b", "b", "b", "a"} {
		e.unmanaged.before, e.unmanaged.now = e.unmanaged.now, map[slurm.JobID]string{}
		e.leave(slurm.Job{ID: 7}, time.Unix(1, 0), why)
	}
	if len(said) != 3 {
		t.Errorf("said %q, want one for each new reason", said)
	}
}
