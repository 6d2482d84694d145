package track

import (
	"slices"
	"time"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/engine/observe"
	"github.com/sluice-hpc/sluice/slurm"
)

// SawJobs stores the jobs, and reports whether the nodes of the last observation can be reused:
// if no job changed and no move is open, every second cycle does not query the nodes. Each
// query also makes slurmctld load all partitions, so that this saves a quarter of an idle
// daemon's load. A move is never opened on reused nodes (see engine.freshly). jobs MUST NOT be
// changed afterwards.
func (st *State) SawJobs(jobs []slurm.Job) (serves bool) {
	same := slices.EqualFunc(jobs, st.Seen.Jobs, alike)
	st.Seen.Jobs, st.Seen.neighbours = jobs, nil
	if same && len(st.Open) == 0 && len(st.Seen.Nodes) > 0 && !st.Seen.Old {
		st.Seen.Old = true
		return true
	}
	return false
}

// SawNodes stores the nodes.
func (cl *Cluster) SawNodes(fresh []slurm.Node) {
	cl.Seen.Nodes, cl.Seen.Old, cl.Seen.neighbours = fresh, false, nil
}

// alike reports whether two observations of a job are the same apart from elapsed time.
func alike(a, b slurm.Job) bool {
	return a.ID == b.ID && a.State == b.State && a.Completing == b.Completing && a.Held == b.Held &&
		a.Reason == b.Reason && a.GPUs == b.GPUs && a.Restarts == b.Restarts && a.Comment == b.Comment &&
		a.Partition == b.Partition && a.Dependency == b.Dependency && a.Eligible.Equal(b.Eligible) && slices.Equal(a.Nodes, b.Nodes) &&
		a.Constraint == b.Constraint && slices.Equal(a.ExcNodes, b.ExcNodes)
}

// Claims returns the folders of jobs that are not known yet. Who owns them MUST be read BEFORE Match.
func (st *State) Claims(jobs []slurm.Job) (out []observe.Box) {
	for _, sj := range jobs {
		if !st.Mine(sj) || sj.Array || sj.Het || !elastic.Tagged(sj.Comment) || sj.State.Ended() {
			continue
		}
		tag, err := st.tagOf(sj)
		if known := st.ByID[elastic.JobID(sj.ID)]; err != nil || st.Jobs[tag.Spec.Token] != nil || known != nil && known.is(sj) {
			continue
		}
		out = append(out, observe.Box{Token: tag.Spec.Token, SlurmUID: sj.UID})
	}
	return out
}

// Match matches Slurm's jobs to their records and adopts new ones. It MUST be called once for each
// answer, with all jobs: a known job that is not in it counts as missing (Missing). Tasks of Slurm's
// own arrays are not managed, since none can be resized by itself (decision 38), nor are
// heterogeneous jobs.
func (st *State) Match(jobs []slurm.Job, folders map[observe.Box]error, now time.Time) {
	for _, js := range st.Jobs {
		js.Shown.Seen = false
	}
	st.unmanaged.before, st.unmanaged.now = st.unmanaged.now, map[slurm.JobID]string{}
	for _, sj := range jobs {
		if !st.Mine(sj) || sj.Array || sj.Het {
			continue
		}
		if !elastic.Tagged(sj.Comment) {
			st.disowned(sj, now)
			continue
		}
		tag, err := st.tagOf(sj)
		if err != nil {
			st.unreadable(sj, err, now)
			continue
		}
		st.Take(sj, tag, folders, now)
	}
}
