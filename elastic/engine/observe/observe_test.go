package observe

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/sluice-hpc/sluice/checkpoint"
	"github.com/sluice-hpc/sluice/slurm"
)

var noon = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)

// site returns the answers that the test sets, and counts queries.
type site struct {
	Queries
	nodes  []slurm.Node
	limits slurm.Limits
	err    error
	asked  int
}

func (s *site) Nodes(context.Context) ([]slurm.Node, error)  { s.asked++; return s.nodes, s.err }
func (s *site) Limits(context.Context) (slurm.Limits, error) { s.asked++; return s.limits, s.err }

// TestNoNodesIsAnError: an empty answer is an error, since a cluster has nodes, and every job on them
// would count as lost.
func TestNoNodesIsAnError(t *testing.T) {
	s := &site{}
	o := Observer{Slurm: s}
	if _, err := o.Nodes(t.Context()); !errors.Is(err, ErrSuspicious) {
		t.Errorf("no nodes: %v", err)
	}
	s.nodes = []slurm.Node{{Name: "g1"}}
	if got, err := o.Nodes(t.Context()); err != nil || len(got) != 1 {
		t.Errorf("one node: %v, %v", got, err)
	}
	s.err = slurm.ErrControllerDown
	if _, err := o.Nodes(t.Context()); !errors.Is(err, slurm.ErrControllerDown) {
		t.Errorf("no answer: %v", err)
	}
}

// TestWhenLimitsAreAskedFor: limits are queried once a cycle, not while the known ones are young
// enough, after a failed query not before the longer time, and never without a Limiter.
func TestWhenLimitsAreAskedFor(t *testing.T) {
	down := errors.New("slurmdbd is down")
	const most, again = 15 * time.Second, time.Minute
	type step struct {
		at    time.Duration
		err   error
		asks  bool
		read  bool
		fails bool
	}
	for name, steps := range map[string][]step{
		"young":       {{0, nil, true, true, false}, {14 * time.Second, nil, false, false, false}, {15 * time.Second, nil, true, true, false}},
		"once":        {{0, nil, true, true, false}, {0, nil, false, false, false}},
		"failed":      {{0, down, true, false, true}, {15 * time.Second, nil, false, false, false}, {time.Minute, nil, true, true, false}},
		"late":        {{0, ErrAsking, true, false, false}, {5 * time.Second, ErrAsking, true, false, false}, {10 * time.Second, nil, true, true, false}, {14 * time.Second, nil, false, false, false}, {15 * time.Second, nil, true, true, false}},
		"never comes": {{0, ErrAsking, true, false, false}, {time.Minute - 1, ErrAsking, true, false, false}, {time.Minute, ErrAsking, true, false, true}},
	} {
		s := &site{}
		o := Observer{Limiter: s}
		for i, c := range steps {
			s.err, s.asked = c.err, 0
			_, read, err := o.SiteLimits(t.Context(), most, again, noon.Add(c.at))
			if asks := s.asked > 0; asks != c.asks || read != c.read || (err != nil) != c.fails || o.LimitsFailed() != (c.fails || name == "failed" && i == 1) {
				t.Errorf("%s, step %d: asked %v, read %v, %v; want %+v", name, i, asks, read, err, c)
			}
		}
	}
	if _, read, err := (&Observer{}).SiteLimits(t.Context(), 0, 0, noon); read || err != nil {
		t.Errorf("without a limiter: %v, %v", read, err)
	}
}

// TestLimitsAfterAClockSetBack: a query later than now counts as made now.
func TestLimitsAfterAClockSetBack(t *testing.T) {
	s := &site{}
	o := Observer{Limiter: s}
	if _, read, _ := o.SiteLimits(t.Context(), time.Minute, time.Minute, noon.Add(time.Hour)); !read {
		t.Fatal("not read")
	}
	o.Rewind(noon)
	for _, c := range []struct {
		at   time.Duration
		read bool
	}{{59 * time.Second, false}, {time.Minute, true}} {
		if _, read, _ := o.SiteLimits(t.Context(), time.Minute, time.Minute, noon.Add(c.at)); read != c.read {
			t.Errorf("%s after the clock was set: read %v", c.at, read)
		}
	}
}

// files are progress files with the given numbers of lines and bytes.
type files struct {
	Reader
	lines map[string]int
	bytes map[string]int64
	fails map[string]error
}

func (f files) Progress(token string, _ uint32, _ int64) ([]checkpoint.Progress, int64, []error, error) {
	return make([]checkpoint.Progress, f.lines[token]), f.bytes[token], nil, f.fails[token]
}

// TestOneUsersFilesCostOthersNothing: once a user's files exceed the bounds of a cycle, the rest of that
// user's files are not read. Other users' files are, and a failed read does not count.
func TestOneUsersFilesCostOthersNothing(t *testing.T) {
	for _, c := range []struct {
		name  string
		first string // of user 1
		want  []bool // a second and a third file of user 1, one of user 2
	}{
		{"little", "little", []bool{true, true, true}},
		{"many lines", "lines", []bool{false, false, true}},
		{"many bytes", "bytes", []bool{false, false, true}},
		{"made shorter, and long", "shorter", []bool{false, false, true}},
		{"not read", "fails", []bool{true, true, true}},
	} {
		o := Observer{Mail: files{
			lines: map[string]int{"lines": LinesPerUser, "fails": LinesPerUser, "little": 1},
			bytes: map[string]int64{"bytes": 2 * bytesPerUser, "shorter": bytesPerUser, "fails": 2 * bytesPerUser, "little": bytesPerUser},
			fails: map[string]error{"fails": fmt.Errorf("no")},
		}}
		offset := map[string]int64{"bytes": bytesPerUser, "shorter": 2 * bytesPerUser, "little": bytesPerUser - 1}
		got := o.Progress([]Reading{
			{Box{c.first, 9}, 1, offset[c.first]}, {Box{"a", 9}, 1, 0}, {Box{"b", 9}, 1, 0}, {Box{"c", 9}, 2, 0},
		})
		if !got[0].Read {
			t.Errorf("%s: the first is not read", c.name)
		}
		for i, want := range c.want {
			if got[i+1].Read != want {
				t.Errorf("%s: file %d is read: %v", c.name, i+2, got[i+1].Read)
			}
		}
	}
}
