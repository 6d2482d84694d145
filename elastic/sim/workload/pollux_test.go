package workload_test

import (
	"math"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sluice-hpc/sluice/elastic/sim/workload"
)

const (
	toyProfiles = "testdata/profiles"
	toyPollux   = "testdata/traces/pollux.csv"
)

func toy(t testing.TB, batch int) *workload.Fixed {
	t.Helper()
	p, err := workload.OpenProfiles(toyProfiles)
	if err != nil {
		t.Fatal(err)
	}
	f, err := p.Speeds("toy", batch)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// epoch is the mean iterations of the two toy epochs at a batch: they end at
// progress 16 and 36, with gradients (1, 3) and (0, 1); 10 at batch 40, 6 at 80.
func epoch(batch float64) float64 {
	scale := batch / 20
	return (16*(3/scale+1)/4 + 20/scale) / 2
}

// TestToyEpochs works the toy profile out by hand.
func TestToyEpochs(t *testing.T) {
	for _, c := range []struct {
		name  string
		batch int
		split []int
		want  float64
	}{
		{"one GPU, two passes of 20, one without waiting", 40, []int{1}, 10 * (2.0 + 2.0)},
		{"two GPUs on a node, 20 each", 40, []int{2}, 10 * 2.2},
		{"two passes on two GPUs", 80, []int{2}, 6 * (2.2 + 2.0)},
		{"a ring as measured", 40, []int{1, 1, 2}, 10 * 1.8},
		{"the same ring from elsewhere", 40, []int{1, 2, 1}, 10 * 1.8},
		{"between two batches", 48, []int{2, 2}, epoch(48) * (1.7*.8 + 2.7*.2)},
		{"the batch rounded up to 42 over three", 40, []int{1, 2}, epoch(42) * (1.6*.6 + 2.6*.4)},
		{"four nodes, of the other file", 40, []int{1, 1, 1, 1}, 10 * 2.0},
		{"half way to eight nodes, batch cut to 78", 80, []int{1, 1, 1, 1, 1, 1}, epoch(78) * (2.3 + 3.3) / 2},
		{"more nodes than measured", 80, []int{1, 1, 1, 1, 1, 1, 1, 1}, 6 * 3.0},
		{"too many GPUs on a node", 80, []int{3}, math.Inf(1)},
		{"a batch too small for so many", 20, []int{1, 1, 2}, math.Inf(1)},
		{"more GPUs than measured", 80, []int{2, 2, 2, 2, 2, 2, 2, 2}, math.Inf(1)},
		{"nowhere", 80, nil, math.Inf(1)},
		{"no GPU on a node", 80, []int{1, 0, 1}, math.Inf(1)},
	} {
		got := toy(t, c.batch).Seconds(c.split)
		if got != c.want && !near(got, c.want, 1e-12) {
			t.Errorf("%s: batch %d on %v takes %v s an epoch, want %v", c.name, c.batch, c.split, got, c.want)
		}
	}
}

func TestReadPollux(t *testing.T) {
	w, err := workload.ReadPollux(toyPollux, toyProfiles)
	if err != nil {
		t.Fatal(err)
	}
	var jobs []workload.Job
	for j := range w.Jobs {
		jobs = append(jobs, j)
	}
	if w.Name != "pollux" || w.Count != 2 || len(jobs) != 2 {
		t.Fatalf("%+v holds %d jobs, want two", w, len(jobs))
	}
	early, late := jobs[0], jobs[1]
	if early.Name != "early" || early.Submit != 10*time.Second || late.Submit != 90*time.Second+500*time.Millisecond {
		t.Errorf("%s at %v, then %s at %v", early.Name, early.Submit, late.Name, late.Submit)
	}
	s := early.Spec
	if s.Min != 1 || s.Max != 4 || early.Asked != 4 || s.Total != 2 || s.Model != "toy-40" || !s.AllowUneven {
		t.Errorf("spec %+v, asked %d", s, early.Asked)
	}
	if late.Spec.Max != 8 || late.Speeds == early.Speeds {
		t.Errorf("batch 80 has at most %d GPUs, want 8, and speeds of its own", late.Spec.Max)
	}
}

// TestProfilesAreShared: workloads of the same profiles have the same speeds, also
// when read at once.
func TestProfilesAreShared(t *testing.T) {
	p, err := workload.OpenProfiles(toyProfiles)
	if err != nil {
		t.Fatal(err)
	}
	var all [8]workload.Speeds
	var wg sync.WaitGroup
	for i := range all {
		wg.Go(func() {
			w, err := workload.ReadPolluxWith(toyPollux, p)
			if err != nil {
				t.Error(err)
				return
			}
			for j := range w.Jobs {
				all[i] = j.Speeds
				j.Speeds.Seconds([]int{1, 1})
			}
		})
	}
	wg.Wait()
	for _, s := range all {
		if s != all[0] {
			t.Error("the same application and batch has two speeds")
		}
	}
}

// write puts a profile of the toy's files into a directory, with some replaced;
// "" leaves a file out.
func write(t *testing.T, replaced map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(toyProfiles)); err != nil {
		t.Fatal(err)
	}
	for name, text := range replaced {
		path := filepath.Join(dir, "toy", name)
		if text == "" {
			os.Remove(path)
			continue
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestProfileErrors(t *testing.T) {
	const placements = "placement,local_bsz,step_time,sync_time\n"
	const scalability = "num_nodes,num_replicas,local_bsz,step_time,sync_time\n"
	const validation = "progress,grad_sqr,grad_var\n"
	for _, c := range []struct{ name, file, text, want string }{
		{"a digit of none", "placements.csv", placements + "1,10,1,0\n102,10,1,0\n", `placements.csv:3:1: placement is "102"; want one digit from 1 to 9 a node`},
		{"too many nodes", "placements.csv", placements + "11111111111111111,10,1,0\n", "at most 16 nodes"},
		{"a batch twice", "placements.csv", placements + "12,10,1,0\n21,10,1,0\n", `placements.csv:3:4: local_bsz is "10"; this placement has that batch already`},
		{"no number", "placements.csv", placements + "1,10,fast,0\n", `placements.csv:2:6: step_time is "fast"; want a number`},
		{"more waiting than time", "placements.csv", placements + "1,10,1,2\n", `placements.csv:2:8: sync_time is "2"; want a number from 0 to 1`},
		{"infinity", "placements.csv", placements + "1,10,+Inf,2\n", `step_time is "+Inf"`},
		{"no rows", "placements.csv", placements, "placements.csv: no rows"},
		{"a ragged row", "placements.csv", placements + "1,10,1\n", "placements.csv:2: want 4 cells, as in line 1"},
		{"an open quote", "placements.csv", placements + "1,\"10,1,0\n", `placements.csv:2:11: extraneous or missing " in quoted-field`},
		{"a column is missing", "scalability.csv", "num_nodes,local_bsz\n", "scalability.csv:1: no column num_replicas among num_nodes,local_bsz"},
		{"empty", "scalability.csv", "\xef\xbb\xbf", "scalability.csv:1: no column num_nodes"},
		{"too many nodes there", "scalability.csv", scalability + "99999,1,1,1,0\n", `scalability.csv:2:1: num_nodes is "99999"; want a whole number from 1 to 256`},
		{"progress that goes back", "validation-40.csv", validation + "5,1,1\n4,1,1\n", `validation-40.csv:3:1: progress is "4"; want more than the 5 before it`},
		{"no epoch", "validation-40.csv", validation, "validation-40.csv: no rows"},
		{"a name without batch", "validation-big.csv", validation, "want a name validation-BATCH.csv"},
		{"a batch twice by name", "validation-040.csv", validation + "5,1,1\n", "two validation files of batch 40"},
		{"no scalability", "scalability.csv", "", "no such file"},
		{"no placements", "placements.csv", "", "holds no APPLICATION/placements.csv; give the folder above"},
	} {
		_, err := workload.ReadPollux(toyPollux, write(t, map[string]string{c.file: c.text}))
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
	}
}

func TestPolluxErrors(t *testing.T) {
	const header = "name,time,application,num_replicas,batch_size\n"
	for _, c := range []struct{ name, text, want string }{
		{"an application without a profile", header + "a,1,resnet,1,40\n", `w.csv:2: application "resnet": open testdata/profiles/resnet/placements.csv: no such file or directory; testdata/profiles has toy`},
		{"a path", header + "a,1,../toy,1,40\n", "want the name of a folder in testdata/profiles"},
		{"a batch not measured", header + "a,1,toy,1,81\n", "w.csv:2: toy: global batch 81 was not measured; want 20 to 80"},
		{"no time", header + "a,1,toy,1,40\nb,,toy,1,40\n", `w.csv:3:3: time is ""; want a number from 0`},
		{"before the start", header + "a,-1,toy,1,40\n", `time is "-1"`},
		{"no GPUs", header + "a,1,toy,0,40\n", `w.csv:2:9: num_replicas is "0"; want a whole number from 1`},
		{"nothing", "", "w.csv: empty; want a first line with the columns name,time,application,num_replicas,batch_size"},
	} {
		path := filepath.Join(t.TempDir(), "w.csv")
		if err := os.WriteFile(path, []byte(c.text), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := workload.ReadPollux(path, toyProfiles)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
	}
	if _, err := workload.ReadPollux(toyPollux, "testdata/none"); !os.IsNotExist(err) && !strings.Contains(err.Error(), "no such file") {
		t.Error(err)
	}
	if _, err := workload.ReadPollux("testdata/none", toyProfiles); err == nil {
		t.Error("no error without a file")
	}
}
