package command

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/sluice-hpc/sluice/slurm"
)

// manyJobs makes squeue print this many pending jobs, some of them last first as squeue
// does, with the requested delimiter. Every 100th has a comment.
func (s stubs) manyJobs(n int) {
	s.t.Helper()
	s.set("squeue", fmt.Sprintf(`
nonce=${SQUEUE_FORMAT2#*:@}; nonce=${nonce%%%%|*}
exec awk -v n=%d -v nonce="$nonce" 'BEGIN {
	f = "@" nonce "|"
	a = f "N/A" f "N/A" f "train_resnet50_lr0.1_seed7" f "alice" f "2001" f "physics" f "gpu" f "normal" f "PENDING" f "Priority" f "(null)" f "4294901760" f "2" f "2" f f f f f "(null)" f
	b = "cpu=8,mem=64000M,node=2,billing=8,gres/gpu=8" f "N/A" f "gres/gpu:4" f "N/A" f "2" f "0" f "1" f "1795234787" f "1795234787" f "N/A" f "N/A" f "1-00:00:00" f "1-00:00:00" f "0:00" f "0:0" f
	c = "/home/alice/projects/vision/logs/slurm-%%j.out" f "/home/alice/projects/vision" f
	for (i = n; i > 0; i--) print i a b c (i %% 100 ? "(null)" : "sluice/1 id=" sprintf("%%032x", i) " inc=0 min=1") "@" nonce "."
}'`, n))
}

// allocated runs f and returns how many bytes it allocated.
func allocated(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// live returns the bytes in use after a collection.
func live() int64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// TestManyJobs: F17, all of 100,000 jobs in one answer are read, and use no more memory
// per job than 2,000 do.
func TestManyJobs(t *testing.T) {
	s := newStubs(t)
	c := s.client(Config{Timeout: time.Minute})
	each, many := map[int]uint64{}, 100_000
	if underRace {
		many /= 5
	}
	for _, n := range []int{2000, many} {
		s.manyJobs(n)
		s.calls()
		var jobs []slurm.Job
		each[n] = allocated(func() {
			var err error
			if jobs, err = c.Jobs(context.Background()); err != nil {
				t.Fatal(err)
			}
		}) / uint64(n)
		if len(jobs) != n || len(s.calls()) != 1 {
			t.Fatalf("%d jobs of %d", len(jobs), n)
		}
		for i, j := range jobs {
			if j.ID != slurm.JobID(i+1) || j.State != slurm.Pending || j.GPUs != 8 || (j.Comment != "") != (j.ID%100 == 0) {
				t.Fatalf("job %d of %d: %+v", i+1, n, j)
			}
		}
	}
	t.Logf("bytes allocated a job: %v", each)
	if each[many] > 2*each[2000] {
		t.Errorf("bytes allocated a job: %v", each)
	}
}

// TestAnswersAreLetGo: F17, of an answer of many megabytes only the jobs that are kept
// stay in memory. The engine keeps a job for its whole life and a day, each from another
// answer.
func TestAnswersAreLetGo(t *testing.T) {
	s := newStubs(t)
	s.manyJobs(2000)
	c := s.client(Config{Timeout: time.Minute})
	var kept []slurm.Job
	look := func() {
		jobs, err := c.Jobs(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		kept = append(kept, jobs[100*len(kept)+99])
	}
	look()
	before := live()
	const looks = 5
	for range looks {
		look()
	}
	grown := live() - before
	t.Logf("%d bytes for each job kept of an answer", grown/looks)
	if grown > looks*64<<10 {
		t.Errorf("%d jobs kept, each of its own answer, hold %d bytes", looks, grown)
	}
	if kept[1].Comment != fmt.Sprintf("sluice/1 id=%032x inc=0 min=1", 200) {
		t.Errorf("%+v", kept[1])
	}
}

// TestTooManyJobs: F17, an endless answer is cut off, and what was read of it is freed.
func TestTooManyJobs(t *testing.T) {
	s := newStubs(t)
	s.set("squeue", `exec yes "1@x|2@x|3"`)
	before := live()
	_, err := s.client(Config{Timeout: time.Minute}).Jobs(context.Background())
	if !errors.Is(err, slurm.ErrGarbage) || !strings.Contains(err.Error(), fmt.Sprint(maxOutput)) {
		t.Errorf("an endless list: %v", err)
	}
	grown := live() - before
	for wait := 0; grown > 1<<20 && wait < 100; wait++ { // the goroutine that read it has to end, too
		time.Sleep(100 * time.Millisecond)
		grown = live() - before
	}
	if grown > 1<<20 {
		t.Errorf("%d bytes of it are still held", grown)
	}
}

// TestManyNodes: F17, every node of a large cluster, in three partitions each.
func TestManyNodes(t *testing.T) {
	d := delimiterOf("many")
	var b strings.Builder
	const n = 5000
	for i := range n {
		for _, p := range []string{"gpu*", "long", "debug"} {
			fields := []string{fmt.Sprintf("rack%d-gpu%d", i/40, i), p, "mixed", "mixed", "gpu:a100:8(S:0-1)", "gpu:a100:3(IDX:0-2)", "24/72/0/96", "515000", "120000", "a100,nvlink", "none"}
			b.WriteString(strings.Join(fields, d.field) + d.record)
		}
	}
	nodes, err := parseNodes(b.String(), d)
	if err != nil || len(nodes) != n {
		t.Fatalf("%d nodes, %v", len(nodes), err)
	}
	for i, node := range nodes {
		if node.GPUs != 8 || node.GPUsUsed != 3 || len(node.Partitions) != 3 {
			t.Fatalf("node %d: %+v", i, node)
		}
	}
}
