package observe

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/sluice-hpc/sluice/slurm"
)

// tree answers with these accounts, or the error, and counts queries.
type tree struct {
	list  []slurm.Share
	err   error
	asked int
}

func (s *tree) Shares(context.Context) ([]slurm.Share, error) { s.asked++; return s.list, s.err }

// TestWhenTheTreeIsAskedFor: at most once a minute, whether it can be read or not; an answer that is
// late is fetched in each cycle, and counts as failed after a minute.
func TestWhenTheTreeIsAskedFor(t *testing.T) {
	down := errors.New("slurmdbd is down")
	some := []slurm.Share{{Account: "root"}}
	type step struct {
		at    time.Duration
		list  []slurm.Share
		err   error
		asks  bool
		read  bool
		fails bool
	}
	for name, steps := range map[string][]step{
		"young":       {{0, some, nil, true, true, false}, {59 * time.Second, some, nil, false, false, false}, {time.Minute, some, nil, true, true, false}},
		"failed":      {{0, nil, down, true, false, true}, {30 * time.Second, nil, down, false, false, false}, {time.Minute, some, nil, true, true, false}},
		"empty":       {{0, nil, nil, true, false, true}, {time.Minute, some, nil, true, true, false}},
		"late":        {{0, nil, ErrAsking, true, false, false}, {5 * time.Second, nil, ErrAsking, true, false, false}, {10 * time.Second, some, nil, true, true, false}, {69 * time.Second, some, nil, false, false, false}, {70 * time.Second, some, nil, true, true, false}},
		"never comes": {{0, nil, ErrAsking, true, false, false}, {time.Minute - 1, nil, ErrAsking, true, false, false}, {time.Minute, nil, ErrAsking, true, false, true}, {time.Hour, some, nil, true, true, false}},
	} {
		s := &tree{}
		o := Observer{Sharer: s}
		for i, c := range steps {
			s.list, s.err, s.asked = c.list, c.err, 0
			list, read, err := o.SiteShares(t.Context(), noon.Add(c.at))
			if (s.asked > 0) != c.asks || read != c.read || (err != nil) != c.fails || read && len(list) != len(c.list) {
				t.Errorf("%s, step %d: asked %d times, read %v, %v; want %+v", name, i, s.asked, read, err, c)
			}
		}
	}
	if _, read, err := (&Observer{}).SiteShares(t.Context(), noon); read || err != nil {
		t.Errorf("without a sharer: %v, %v", read, err)
	}
	s := &tree{list: some}
	o := Observer{Sharer: s}
	_, _, _ = o.SiteShares(t.Context(), noon.Add(time.Hour))
	o.Rewind(noon)
	if _, read, _ := o.SiteShares(t.Context(), noon.Add(time.Minute)); !read {
		t.Error("after a clock was set back the tree is not read")
	}
}
