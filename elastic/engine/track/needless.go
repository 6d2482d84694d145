package track

import (
	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/slurm"
)

// Needless returns the lanes that are to be cancelled, each with the number of its sweep: jobs that wait although their
// sweep is over. That it is over is in the sweep's record, which is durable BEFORE this; so a daemon that is killed
// finds them again. jobs are those of the last observation.
//
// A lane that another job depends on is not cancelled: "afterok" would never be fulfilled then. It starts, and ends by
// itself. Lanes with open moves are in the answer, too, and MUST be left to these.
func Needless(st *State, jobs []slurm.Job) map[elastic.JobID]elastic.JobID {
	if st.Rules.Needless == nil {
		return nil
	}
	lanes := st.Rules.Needless()
	if len(lanes) == 0 {
		return nil
	}
	awaited := map[slurm.JobID]bool{}
	for i := range jobs {
		if j := &jobs[i]; j.State == slurm.Pending && j.Dependency != "" {
			for _, term := range slurm.ParseDependency(j.Dependency).Terms {
				awaited[term.Job] = true
			}
		}
	}
	out := map[elastic.JobID]elastic.JobID{}
	for token, sweep := range lanes {
		js := st.Jobs[token]
		if js == nil || !js.lives() || js.Kept || !js.Shown.Seen || js.Shown.Slurm.State != slurm.Pending || js.Rec.Tag.Spec.Sweep == "" || awaited[slurm.JobID(js.Rec.ID)] {
			continue
		}
		out[js.Rec.ID] = sweep
	}
	return out
}

// barNeedless keeps lanes that are cancelled next from starting meanwhile.
func barNeedless(s *elastic.Snapshot, needless map[elastic.JobID]elastic.JobID) {
	for i := range s.Jobs {
		j := &s.Jobs[i]
		if sweep, is := needless[j.ID]; is && j.Phase == elastic.Waiting {
			j.Blocked = elastic.Blocked{Code: elastic.SweepEnded, Sweep: sweep}
		}
	}
}
