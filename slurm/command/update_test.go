package command

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/sluice-hpc/sluice/slurm"
)

func TestUpdateFields(t *testing.T) {
	comment := "sluice: a=b \"c\"\n'd' JobName=evil"
	empty := ""
	for _, k := range []struct {
		u    slurm.Update
		want []string
	}{
		{slurm.Update{}, nil},
		{slurm.Update{Nodes: []string{"gpu3", "gpu1"}, GPUsPerNode: 2, CPUs: 8, StartAfter: time.Second},
			[]string{"StartTime=now+1", "NumNodes=2-2", "NumTasks=2", "NumCPUs=8", "ReqNodeList=gpu3,gpu1", "TresPerNode=gres:gpu:2", "TresPerJob="}},
		{slurm.Update{Nodes: []string{"gpu1", "gpu2"}, GPUsTotal: 5, GPUType: "a100"},
			[]string{"NumNodes=2-2", "NumTasks=2", "ReqNodeList=gpu1,gpu2", "TresPerNode=", "TresPerJob=gres:gpu:a100:5"}},
		{slurm.Update{AnyNodes: true, NodeCount: 3}, []string{"NumNodes=3-3", "NumTasks=3", "ReqNodeList="}},
		{slurm.Update{AnyNodes: true}, []string{"ReqNodeList="}},
		{slurm.Update{StartAfter: 1200 * time.Millisecond}, []string{"StartTime=now+2"}},
		{slurm.Update{StartAfter: time.Nanosecond}, []string{"StartTime=now+1"}},
		{slurm.Update{StartAt: time.Date(2031, 3, 30, 2, 30, 0, 1, time.FixedZone("", 2*3600)), CPUs: 2}, []string{"StartTime=2031-03-30T00:30:01", "NumCPUs=2"}},
		{slurm.Update{Comment: &comment}, []string{"Comment=" + comment}},
		{slurm.Update{Comment: &empty}, []string{"Comment="}},
	} {
		if got := updateFields(k.u, "gres:gpu"); !slices.Equal(got, k.want) {
			t.Errorf("%+v: %q, want %q", k.u, got, k.want)
		}
	}
}

func TestUpdateRefusesWhatCannotBeMeant(t *testing.T) {
	zero := "a\x00b"
	for _, u := range []slurm.Update{
		{GPUsPerNode: 1, GPUsTotal: 2}, {GPUsPerNode: -1}, {CPUs: -1}, {NodeCount: -2}, {StartAfter: -time.Second},
		{StartAt: time.Now()}, {StartAt: time.Unix(1, 0)}, {StartAt: time.Now().Add(time.Hour), StartAfter: time.Second},
		{Nodes: []string{"gpu1"}, AnyNodes: true}, {Nodes: []string{"gpu1"}, NodeCount: 2},
		{Nodes: []string{"gpu1,gpu2"}}, {Nodes: []string{"gpu[1-2]"}}, {Nodes: []string{""}}, {Nodes: []string{"gpu1 Priority=9"}},
		{GPUsTotal: 1, GPUType: "a100:9,x"}, {Comment: &zero},
	} {
		s := newStubs(t)
		err := s.client(Config{}).Update(background, 7, u)
		if !errors.Is(err, slurm.ErrRefused) || len(s.calls()) != 0 {
			t.Errorf("%+v: %v", u, err)
		}
	}
}

// TestASizeIsWrittenBehindAFence: the start is delayed first; if Slurm refuses that,
// because the job runs, the size is never sent.
func TestASizeIsWrittenBehindAFence(t *testing.T) {
	s := newStubs(t)
	s.set("scontrol", `case $1 in show) echo "SLURM_VERSION           = 22.05.8";; esac`)
	c := s.client(Config{Timeout: 5 * time.Second})
	u := slurm.Update{Nodes: []string{"gpu1"}, GPUsPerNode: 2, StartAfter: time.Second}
	if err := c.Update(background, 7, u); err != nil {
		t.Fatal(err)
	}
	want := []string{"scontrol [show] [config]",
		"scontrol [update] [JobId=7] [StartTime=now+15]",
		"scontrol [update] [JobId=7] [StartTime=now+1] [NumNodes=1-1] [NumTasks=1] [ReqNodeList=gpu1] [TresPerNode=gres:gpu:2] [TresPerJob=]"}
	if got := s.calls(); !slices.Equal(got, want) {
		t.Errorf("ran\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	s.set("scontrol", `echo "Job is no longer pending execution for job 7" >&2; exit 1`)
	if err := c.Update(background, 7, u); !errors.Is(err, slurm.ErrWrongState) {
		t.Errorf("on a running job: %v", err)
	}
	if got := s.calls(); len(got) != 1 {
		t.Errorf("a running job was sent %q", got)
	}
	// Other fields may be written at any time, and need no fence.
	s.set("scontrol", "")
	comment := "x"
	if err := c.Update(background, 7, slurm.Update{Comment: &comment}); err != nil {
		t.Error(err)
	}
	if got := s.calls(); !slices.Equal(got, []string{"scontrol [update] [JobId=7] [Comment=x]"}) {
		t.Errorf("comment: %q", got)
	}
	if err := c.Update(background, 7, slurm.Update{}); err != nil || len(s.calls()) != 0 {
		t.Errorf("nothing to write: %v", err)
	}
}

// TestAPartitionIsWrittenAgain: an update refused with ErrAgain is sent again, behind a
// new fence each time and a limited number of times; any other refusal is returned.
func TestAPartitionIsWrittenAgain(t *testing.T) {
	const busy = `echo "Resource temporarily unavailable for job 7" >&2; exit 1`
	u := slurm.Update{Partition: "edge", Nodes: []string{"gpu1"}, CPUs: 1, StartAfter: time.Second}
	for _, c := range []struct {
		name, refuses string
		fences        int
		want          error
	}{
		{"granted the third time", `[ $(wc -l <"$0.n") -gt 2 ] || { ` + busy + `; }`, 3, nil},
		{"never granted", busy, tries, slurm.ErrAgain},
		{"refused for good", `echo "Invalid partition name specified for job 7" >&2; exit 1`, 1, slurm.ErrRefused},
	} {
		s := newStubs(t)
		s.set("scontrol", `case "$*" in *Partition=*) echo >>"$0.n"; `+c.refuses+`;; esac`)
		if err := s.client(Config{}).Update(background, 7, u); !errors.Is(err, c.want) || errors.Is(err, slurm.ErrAgain) != (c.want == slurm.ErrAgain) {
			t.Errorf("%s: %v, want %v", c.name, err, c.want)
		}
		calls := strings.Join(s.calls(), "\n")
		if n := strings.Count(calls, "[StartTime=now+30]"); n != c.fences || strings.Count(calls, "[Partition=edge]") != c.fences {
			t.Errorf("%s: want %d times:\n%s", c.name, c.fences, calls)
		}
	}
}

// TestAChangeLeftOutIsNoSuccess: 24.11 exits with 0 although it changed nothing.
func TestAChangeLeftOutIsNoSuccess(t *testing.T) {
	s := newStubs(t)
	s.set("scontrol", `echo "scontrol: error: Maximum node count 1 is less than minimum node count 3" >&2`)
	if err := s.client(Config{}).Update(background, 7, slurm.Update{NodeCount: 1, StartAfter: time.Second}); !errors.Is(err, slurm.ErrRefused) {
		t.Errorf("left out: %v", err)
	}
	s.set("scontrol", `echo "scontrol: error: Ignoring obsolete FastSchedule=1 option" >&2`)
	if err := s.client(Config{}).Update(background, 7, slurm.Update{NodeCount: 1, StartAfter: time.Second}); err != nil {
		t.Errorf("a warning about slurm.conf: %v", err)
	}
}

// TestUpdateArgumentsStayWhole: whatever a comment contains, the number of arguments and
// their keys do not change.
func TestUpdateArgumentsStayWhole(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		comment := rapid.String().Draw(t, "comment")
		u := slurm.Update{Nodes: []string{"gpu1"}, GPUsTotal: 1, Comment: &comment}
		fields := updateFields(u, "gpu")
		if len(fields) != 6 || fields[5] != "Comment="+comment {
			t.Fatalf("%q", fields)
		}
	})
}
