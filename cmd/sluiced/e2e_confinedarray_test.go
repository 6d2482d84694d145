package main_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// arrayed are the accounts of TestConfinedArray, in the order of vaulters.
var arrayed = []string{"sluice-test-vq", "sluice-test-oq", "sluice-test-rq", "sluice-test-nq"}

// TestConfinedArray: each task of an array of confined jobs is an elastic job of its own on the data, known by its place in the
// array; what each puts out leaves with it alone. An array is cancelled as a whole.
func TestConfinedArray(t *testing.T) {
	t.Parallel()
	needsFence(t)
	s := playConfined(t, arrayed, "", "/usr")
	s.furnish()
	s.as(s.owner, "sluice", "data", "add", "mammo", "--path", s.data, "--readers", s.reader, "--release", "20MB/job,30MB/week")
	lines := `#SBATCH --array=1-5:2%2
#SLUICE --data=mammo --max-gpus=2
echo "task $SLURM_ARRAY_TASK_ID of $SLUICE_ARRAY_TASK_COUNT in $SLURM_ARRAY_JOB_ID"
srun python3 train.py`
	folder := filepath.Dir(s.study(s.reader, "confined_task.py", lines))
	submit := func(options ...string) (jobs []int64) {
		said := s.as(s.reader, "sluice", append(append([]string{"submit", "--parsable"}, options...), filepath.Join(folder, "train.sh"))...)
		for word := range strings.SplitSeq(strings.TrimSpace(said), ":") {
			id, err := strconv.ParseInt(word, 10, 64)
			s.must(err)
			jobs = append(jobs, id)
		}
		return jobs
	}
	jobs := submit()
	if len(jobs) != 3 {
		t.Fatalf("the array has the jobs %v", jobs)
	}
	for i, id := range jobs {
		index := 1 + 2*i
		name := fmt.Sprintf("%d_%d", jobs[0], index)
		j := &job{s: s.scene, id: id, user: s.reader}
		if state := j.ends(); state != "COMPLETED" {
			t.Fatalf("%s ended as %s: %s", name, state, s.as(s.reader, "sluice", "logs", name))
		}
		if log, want := s.as(s.reader, "sluice", "logs", name), fmt.Sprintf("task %d of 3 in %d\n", index, jobs[0]); !strings.Contains(log, want) {
			t.Errorf("the log of %s has no line %q:\n%s", name, want, log)
		}
		s.as(s.reader, "sluice", "results", name, "-o", "got"+strconv.Itoa(index))
		out, err := os.ReadFile(filepath.Join(s.Home(s.reader), "got"+strconv.Itoa(index), "task.json"))
		if want := fmt.Sprintf(`{"task": %d, "pictures": 200}`, index); err != nil || string(out) != want {
			t.Errorf("the result of %s: %s, %v, want %s", name, out, err, want)
		}
	}
	held := submit("--hold")
	s.as(s.reader, "sluice", "cancel", fmt.Sprintf("%d_*", held[0]))
	for _, id := range held {
		if state := (&job{s: s.scene, id: id, user: s.reader}).ends(); state != "CANCELLED" {
			t.Errorf("job %d of a cancelled array ended as %s", id, state)
		}
	}
	if audit := s.as(s.owner, "sluice", "data", "audit", "mammo"); strings.Count(audit, `"event":"submitted"`) != 6 {
		t.Errorf("audit:\n%s", audit)
	}
}
