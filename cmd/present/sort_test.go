package present

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sluice-hpc/sluice/elastic/control/wire"
	"github.com/sluice-hpc/sluice/elastic/reason"
)

// TestOrder: the order in which jobs run and would start; a job is in it where it stands, also between
// two runs of a resize.
func TestOrder(t *testing.T) {
	move := func(kind string) *wire.Move { return &wire.Move{Kind: kind} }
	want := []wire.Job{
		{Name: "runs", GPUs: 2},
		{Name: "is being started, and has its GPUs", GPUs: 2, Move: move("start")},
		{Name: "is between two runs", Move: move("resize")},
		{Name: "is being brought back", Move: move("revive")},
		{Name: "is being parked", GPUs: 1, Move: move("park")},
		{Name: "is being started", Move: move("start")},
		{Name: "contends since a moment", Why: reason.Value{Reason: reason.Contends{Job: 7}}},
		{Name: "waits in Slurm", Why: reason.Value{Reason: reason.InSlurm{Reason: "Resources"}}},
		{Name: "is next", StartOrder: 1, Priority: 7},
		{Name: "is next but one", StartOrder: 2, Priority: 9},
		{Name: "was parked just now", Move: move("park")},
		{Name: "waits in Slurm for another job", Why: reason.Value{Reason: reason.InSlurm{Reason: "Dependency"}}},
		{Name: "is held"},
		{Name: "ended", Ended: true, GPUs: 4},
	}
	var jobs []wire.Job
	text, err := json.Marshal(want) // as sluiced sends them
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &jobs); err != nil {
		t.Fatal(err)
	}
	jobs[8], jobs[9] = jobs[9], jobs[8]                  // of those that wait, in any order
	jobs = append(slices.Clone(jobs[10:]), jobs[:10]...) // running ones last
	if err := Jobs.Sort(jobs, ""); err != nil {
		t.Fatal(err)
	}
	for i := range jobs {
		if jobs[i].Name != want[i].Name {
			t.Errorf("place %d: %q, want %q", i, jobs[i].Name, want[i].Name)
		}
	}
}

// TestSort: by numbers, times and text, up and down; what has no value is last either way.
func TestSort(t *testing.T) {
	at := func(minutes int) time.Time { return time.Unix(int64(60*minutes), 0) }
	jobs := []wire.Job{
		{JobID: 9, User: "bob", GPUs: 10, Started: at(5), Account: "phys"},
		{JobID: 10, User: "ann", GPUs: 9, Started: at(3), Priority: 40},
		{JobID: 11, User: "bob", GPUs: 2, Account: "bio", Priority: 30},
	}
	for by, want := range map[string]string{
		"": "9 10 11", "jobid": "9 10 11", "-jobid": "11 10 9", "-i": "11 10 9", "gpus": "11 10 9", "-gpus": "9 10 11", "user,-jobid": "10 11 9",
		"start": "10 9 11", "-start": "9 10 11", "time": "9 10 11", "-M": "10 9 11", "account": "11 9 10", "-a": "9 11 10", "+Priority": "11 10 9", " -priority , user": "10 11 9",
	} {
		got, all := slices.Clone(jobs), ""
		err := Jobs.Sort(got, by)
		for _, j := range got {
			all += fmt.Sprint(" ", j.JobID)
		}
		if err != nil || strings.TrimSpace(all) != want {
			t.Errorf("%q: %s, %v, want %s", by, all, err, want)
		}
	}
	for _, by := range []string{",", "jobid,", "colour", "-", "gpus;user"} {
		if err := Jobs.Sort(slices.Clone(jobs), by); err == nil || !strings.Contains(err.Error(), "in --sort: there are jobid, name,") {
			t.Errorf("%q: %v", by, err)
		}
	}
}

// TestNumbersAreSortedAsNumbers: each right-aligned field, and each time, has a value to sort by.
func TestNumbersAreSortedAsNumbers(t *testing.T) {
	check(t, Jobs)
	check(t, Nodes)
}

func check[T any](t *testing.T, l List[T]) {
	t.Helper()
	for _, f := range l.Fields {
		if (f.Right || strings.HasSuffix(f.Head, "_TIME")) && l.values[f.Name] == nil {
			t.Errorf("%s is sorted as text", f.Name)
		}
	}
	for name := range l.values {
		if _, is := l.find(func(f Field[T]) bool { return f.Name == name }); !is {
			t.Errorf("there is no field %s", name)
		}
	}
}
