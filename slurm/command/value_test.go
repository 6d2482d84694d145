package command

import (
	"fmt"
	"testing"
	"time"

	"github.com/sluice-hpc/sluice/slurm"
)

func TestDuration(t *testing.T) {
	for s, want := range map[string]time.Duration{
		"0:00": 0, "0:07": 7 * time.Second, "30:00": 30 * time.Minute, "1:02:03": time.Hour + 2*time.Minute + 3*time.Second,
		"1-02:03:04": 26*time.Hour + 3*time.Minute + 4*time.Second, "365-00:00:00": 365 * 24 * time.Hour,
		"UNLIMITED": 0, "INVALID": 0, "NOT_SET": 0, "N/A": 0, "": 0,
	} {
		if got, err := duration(s); err != nil || got != want {
			t.Errorf("duration(%q) = %v, %v; want %v", s, got, err, want)
		}
	}
	for _, s := range []string{"5", "1:2:3:4", "1-2:3", "-1:00", "1:60", "1:00:60", "a:b", "1:-2", "99999999999999:00", "1-:00:00", ":", "1-00:00", "1 :00"} {
		if got, err := duration(s); err == nil {
			t.Errorf("duration(%q) = %v", s, got)
		}
	}
}

func TestCountAndTime(t *testing.T) {
	for s, want := range map[string]int{"0": 0, "7": 7, "N/A": 0, "": 0, "4294967294": 0, "4294967295": 0} {
		if got, err := count(s); err != nil || got != want {
			t.Errorf("count(%q) = %d, %v", s, got, err)
		}
	}
	for _, s := range []string{"-1", "1K", "99999999999999999999", "4294967296", "1.5", "seven"} {
		if got, err := count(s); err == nil {
			t.Errorf("count(%q) = %d", s, got)
		}
	}
	if got, err := epoch("1795230697"); err != nil || !got.Equal(time.Date(2026, 11, 21, 3, 11, 37, 0, time.UTC)) {
		t.Errorf("%v, %v", got, err)
	}
	for _, s := range []string{"", "N/A", "NONE", "Unknown", "0"} {
		if got, err := epoch(s); err != nil || !got.IsZero() {
			t.Errorf("epoch(%q) = %v, %v", s, got, err)
		}
	}
	for _, s := range []string{"2026-11-21T03:11:37", "-5", "tomorrow", "99999999999999999"} {
		if _, err := epoch(s); err == nil {
			t.Errorf("epoch(%q) is a time", s)
		}
	}
}

func TestExitStatus(t *testing.T) {
	for s, want := range map[string][2]int{"0": {}, "0:0": {}, "768": {3, 0}, "9": {0, 9}, "3:0": {3, 0}, "0:15": {0, 15}, "": {}} {
		if c, sig, err := exitStatus(s); err != nil || [2]int{c, sig} != want {
			t.Errorf("exitStatus(%q) = %d:%d, %v", s, c, sig, err)
		}
	}
	for _, s := range []string{"3:x", "x", "x:9", "-1"} {
		if c, sig, err := exitStatus(s); err == nil {
			t.Errorf("exitStatus(%q) = %d:%d", s, c, sig)
		}
	}
}

func TestGPUs(t *testing.T) {
	for _, c := range []struct{ list, want string }{
		{"", "0  []"}, {"(null)", "0  []"}, {"N/A", "0  []"},
		{"gpu", "1  []"}, {"gpu:4", "4  []"}, {"gpu:a100", "1 a100 []"}, {"gpu:a100:4", "4 a100 []"},
		{"gres:gpu:4", "4  []"}, {"gres:gpu:a100:4", "4 a100 []"}, {"gres/gpu:4", "4  []"}, {"gres/gpu:a100:4", "4 a100 []"},
		{"cpu=8,mem=4G,node=2,billing=8,gres/gpu=4", "4  []"},
		{"cpu=8,gres/gpu=4,gres/gpu:a100=4", "4 a100 []"}, {"cpu=8,gres/gpu=1", "1  []"},
		{"gres/gpu:a100=3,gres/gpu:h100=1,gres/gpu=4", "4  []"}, {"gres/gpu:a100=3", "3 a100 []"},
		{"gpu:2,gpu:a100:1", "3 a100 []"},
		{"gpu:4(S:0-1)", "4  []"}, {"gpu:4(IDX:0-3)", "4  [0 1 2 3]"}, {"gpu:(null):4(IDX:0-3)", "4  [0 1 2 3]"},
		{"gpu:a100:3(IDX:0,2-3),mps:100", "3 a100 [0 2 3]"}, {"gpu:a100:0(IDX:N/A)", "0 a100 []"},
		{"shard:16,gpu:2(S:0,1),nic:1", "2  []"}, {"gpu:a100:1(IDX:0),gpu:h100:1(IDX:3)", "2  [0 3]"},
		{"bandwidth:lustre:4G", "0  []"}, {"gres:", "0  []"}, {"gres/", "0  []"},
	} {
		g, err := parseGPUs(c.list)
		if got := fmt.Sprintf("%d %s %v", g.count, g.kind, g.ids); err != nil || got != c.want {
			t.Errorf("parseGPUs(%q) = %s, %v; want %s", c.list, got, err, c.want)
		}
	}
	for _, list := range []string{"gpu:a:b:2", "gpu=many", "gpu:2(IDX:0-99999)", "gpu:2(IDX:3-1)", "gpu:2(IDX:a)", "gpu:2(IDX:0", "gpu:99999999999"} {
		if g, err := parseGPUs(list); err == nil && g.count != 1 {
			t.Errorf("parseGPUs(%q) = %+v", list, g)
		}
	}
}

func TestState(t *testing.T) {
	start := time.Unix(1000, 0)
	hour := time.Hour
	for _, c := range []struct {
		name string
		got  jobState
		want jobState
	}{
		{"running", readState("RUNNING", hour, start, start.Add(2*hour), 2*hour), jobState{base: slurm.Running}},
		{"configuring", readState("CONFIGURING", 0, start, time.Time{}, 0), jobState{base: slurm.Running}},
		{"requeued", readState("REQUEUED", 0, start, time.Time{}, 0), jobState{base: slurm.Pending, requeued: true}},
		{"requeue held", readState("REQUEUE_HOLD", 0, start, time.Time{}, 0), jobState{base: slurm.Pending, requeued: true}},
		{"completing, requeued, no limit", readState("COMPLETING", 0, start, time.Time{}, 0), jobState{slurm.Pending, true, true}},
		{"completing, requeued, limit", readState("COMPLETING", 0, start, start.Add(hour), hour), jobState{slurm.Pending, true, true}},
		{"completing, ended", readState("COMPLETING", hour, start, start.Add(hour), hour), jobState{base: slurm.Unknown, completing: true}},
		{"completing, ended at once", readState("COMPLETING", 0, start, start, hour), jobState{base: slurm.Unknown, completing: true}},
		{"completing, ended at once, no limit", readState("COMPLETING", 0, start, start, 0), jobState{base: slurm.Unknown, completing: true}},
		{"a word of a later release", readState("HIBERNATING", 0, start, start, 0), jobState{base: slurm.Unknown}},
		{"nothing", readState("", 0, start, start, 0), jobState{base: slurm.Unknown}},
	} {
		if c.got != c.want {
			t.Errorf("%s: %+v, want %+v", c.name, c.got, c.want)
		}
	}
}

func TestOutputFile(t *testing.T) {
	j := slurm.Job{ID: 42, Name: "a b", User: "alice", WorkDir: "/home/alice"}
	for name, want := range map[string]string{
		"/x/slurm-42.out": "/x/slurm-42.out", "/x/slurm-%j.out": "/x/slurm-42.out", "slurm-%j.out": "/home/alice/slurm-42.out",
		"%6j.log": "/home/alice/000042.log", "%99j": "/home/alice/0000000042", "/x/%x-%u-100%%": "/x/a b-alice-100%",
		"/x/%N-%j": "/x/%N-42", "": "", "(null)": "", "/dev/null": "/dev/null",
	} {
		if got := outputFile(name, j); got != want {
			t.Errorf("outputFile(%q) = %q, want %q", name, got, want)
		}
	}
	if got := outputFile("/x/%A_%a", slurm.Job{ID: 42, Array: true}); got != "/x/%A_%a" {
		t.Errorf("an array's file: %q", got)
	}
}
