package elastic

import (
	"reflect"
	"testing"

	"github.com/sluice-hpc/sluice/nodes"
)

// TestArrayCaps: which tasks count as running, and for which array.
func TestArrayCaps(t *testing.T) {
	place := nodes.Placement{{Node: "n1", GPUs: 2}}
	task := func(id JobID, index int, phase Phase, place nodes.Placement) Job {
		a := Array{Job: 1, Index: index, Count: 6, Limit: 2}
		if id == 1 {
			a.Job = 0
		}
		return Job{ID: id, UID: 7, Phase: phase, Place: place, Spec: Spec{Min: 1, Array: a}}
	}
	all := func(ids ...JobID) map[JobID]bool {
		out := map[JobID]bool{}
		for _, id := range ids {
			out[id] = true
		}
		return out
	}
	stranger := task(9, 1, Waiting, nil)
	stranger.UID = 8
	unlimited := task(20, 0, Waiting, nil)
	unlimited.Spec.Array = Array{Index: 0, Count: 3}
	for name, tc := range map[string]struct {
		jobs    []Job
		intents []Intent
		want    []Cap
	}{
		"waiting tasks and those that run": {[]Job{task(1, 0, Running, place), task(2, 1, Waiting, nil), task(3, 2, Waiting, nil)}, nil,
			[]Cap{{Name: "--array=...%2 of array 1", Of: Jobs, Most: 2, Throttle: true, Jobs: all(1, 2, 3)}}},
		"a job that Slurm may start by itself": {[]Job{task(1, 0, Queued, nil), task(2, 1, Waiting, nil)}, nil,
			[]Cap{{Name: "--array=...%2 of array 1", Of: Jobs, Most: 2, Throttle: true, Others: 1, Jobs: all(2)}}},
		"a job being cleaned up": {[]Job{task(2, 1, Completing, nil), task(3, 2, Waiting, nil)}, nil,
			[]Cap{{Name: "--array=...%2 of array 1", Of: Jobs, Most: 2, Throttle: true, Others: 1, Jobs: all(3)}}},
		"a job between two sizes": {[]Job{task(1, 0, Completing, nil), task(2, 1, Waiting, nil)}, []Intent{{Job: 1, Target: place}},
			[]Cap{{Name: "--array=...%2 of array 1", Of: Jobs, Most: 2, Throttle: true, Jobs: all(1, 2)}}},
		"another user's, of the same number": {[]Job{task(1, 0, Running, place), stranger}, nil,
			[]Cap{{Name: "--array=...%2 of array 1", Of: Jobs, Most: 2, Throttle: true, Jobs: all(1)},
				{Name: "--array=...%2 of array 1", Of: Jobs, Most: 2, Throttle: true, Jobs: all(9)}}},
		"no limit": {[]Job{unlimited}, nil, nil},
		"no array": {[]Job{{ID: 4, Phase: Waiting, Spec: Spec{Min: 1}}}, nil, nil},
	} {
		if got := ArrayCaps(&Snapshot{Jobs: tc.jobs, Intents: tc.intents}); !reflect.DeepEqual(got, tc.want) {
			t.Errorf("%s: got %+v", name, got)
		}
	}
}

func TestParseArrayRefuses(t *testing.T) {
	for _, bad := range []string{"", "1", "1_2", "_/", "1_2/0", "-1_2/3", "1_-2/3", "1_2/3%", "1_2/3%0", "01_2/3", "1_2/3%04", "1_4000001/2", "1_2/3%4%5", "x_1/2", "0_1/2++", "0_1/2+%3"} {
		if a, err := parseArray(bad); err == nil {
			t.Errorf("%q was read as %v", bad, a)
		}
	}
	for _, a := range []Array{{Count: -1}, {Index: 1}, {Count: 1, Job: -1}, {Count: 1, Index: -1}, {Count: 1, Limit: -1}} {
		if a.validate() == nil {
			t.Errorf("%+v is valid", a)
		}
	}
}
