package world_test

import (
	"strings"
	"testing"
	"time"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/engine/journal"
	"github.com/sluice-hpc/sluice/elastic/world"
	"github.com/sluice-hpc/sluice/elastic/world/records"
	"github.com/sluice-hpc/sluice/slurm"
	"github.com/sluice-hpc/sluice/slurm/fake"
)

// arrives submits a task of an array whose first job waits for the others.
func arrives(w *world.World, first *world.Trainer, index, count int) *world.Trainer {
	a := elastic.Array{Index: index, Count: count, Open: first == nil}
	if first != nil {
		a.Job = elastic.JobID(first.ID())
	}
	return w.Submit(world.Job{User: "alice", Model: world.Perfect(10), Spec: elastic.Spec{Min: 1, Max: 1, Total: 2, Array: a}})
}

// TestAnArrayIsStartedWhole: if the submission of an array is killed halfway, its tasks hold no GPUs and
// show what to type. Once all tasks exist, or the submission has marked the array complete, they run,
// even if some are cancelled or sluiced restarts.
func TestAnArrayIsStartedWhole(t *testing.T) {
	const tasks = 3
	for name, tc := range map[string]struct {
		come  int  // number of tasks that are submitted
		says  bool // the submission marks the array complete
		drop  bool // the last task is cancelled before a cycle
		anew  bool // sluiced restarts without its journal
		start bool
	}{
		"killed on the way":                   {come: 2},
		"killed on the way, a sluiced anew":   {come: 2, anew: true},
		"whole, and the submit says so":       {come: 3, says: true, start: true},
		"whole, and killed before it says so": {come: 3, start: true},
		"one is cancelled at once":            {come: 3, says: true, drop: true, start: true},
	} {
		t.Run(name, func(t *testing.T) {
			w := world.New(world.Config{Records: &records.Records{}, Fake: fake.Config{Seed: 5, Nodes: fake.Grid(1, 4)}})
			d := boot(t, w, new(journal.Memory), "lookahead")
			first := arrives(w, nil, 0, tasks)
			all := []*world.Trainer{first}
			for i := 1; i < tc.come; i++ {
				all = append(all, arrives(w, first, i, tasks))
			}
			if tc.drop {
				_ = w.User("alice").Cancel(t.Context(), all[len(all)-1].ID())
				all = all[:len(all)-1]
			}
			if tc.says {
				detail, err := w.Client.Job(t.Context(), first.ID())
				if err != nil {
					t.Fatal(err)
				}
				comment := strings.Replace(detail.Comment, "/3+", "/3", 1)
				if err := w.User("alice").Update(t.Context(), first.ID(), slurm.Update{Comment: &comment}); err != nil || comment == detail.Comment {
					t.Fatal(err, comment)
				}
			}
			if w.At(40*time.Second, func() {
				if said := whys(d); !tc.start && !strings.Contains(said, "waiting: its array is being submitted, 2 of 3 tasks so far") {
					t.Errorf("after 40 s:\n%s", said)
				}
			}); tc.anew {
				finish(t, w, d, 2*time.Minute)
				d = boot(t, w, new(journal.Memory), "lookahead")
			}
			finish(t, w, d, 8*time.Minute)
			for _, job := range all {
				if started := len(job.Runs()) > 0; started != tc.start || tc.start && !job.Ended() {
					t.Errorf("job %d: started %t, ended %t\n%s", job.ID(), started, job.Ended(), whys(d))
				}
			}
			if said := whys(d); !tc.start && strings.Count(said, "not started: only 2 of the 3 tasks of its array were submitted") != 2 {
				t.Errorf("after 8 min:\n%s", said)
			}
		})
	}
}
