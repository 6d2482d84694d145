package control

import (
	"cmp"
	"slices"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/control/wire"
	"github.com/sluice-hpc/sluice/elastic/engine/publish"
)

// SweepReport is a sweep as the daemon knows it from its lanes' files. Sweep lacks what the report
// of jobs has: User, Account, Lanes and GPUs, and Number where no lane has told it.
type SweepReport struct {
	wire.Sweep
	Running map[string][]int // the trials that each lane runs, ascending, by the lane's token
}

// sweeps answers with the sweeps whose lanes the caller may see.
func (s *Server) sweeps(q request) (any, error) {
	s.service.Refresh(q.Context())
	r, err := s.published()
	if err != nil {
		return nil, err
	}
	out := wire.Sweeps{Version: wire.Version, At: r.At, Sweeps: viewSweeps(r, s.service.Sweeps(), q.seesJobsOf)}
	for i := range out.Sweeps {
		s := &out.Sweeps[i]
		s.Open = s.Metric != "" && may(verbSweep, q.options.role(q.caller, s.UID), q.options.Private)
	}
	role := q.options.standing(q.caller)
	out.Own = !may(verbExplain, role, q.options.Private)
	if role == other {
		hideProblems(out.Sweeps, q.caller.UID)
	}
	return out, nil
}

// anothersProblem is what users are told of a sweep of another user that sluiced cannot look after.
const anothersProblem = "its user sees why, by 'sluice sweep explain'."

// hideProblems replaces what is wrong with sweeps of others: its words may name parameters and paths.
func hideProblems(all []wire.Sweep, caller uint32) {
	for i := range all {
		if s := &all[i]; s.Problem != "" && s.UID != caller {
			s.Problem = anothersProblem
		}
	}
}

// viewSweeps puts the sweeps and the report of their lanes together, by number. A sweep of which only
// lanes are known is listed too: its files were not read yet.
func viewSweeps(r *publish.Report, known map[string]SweepReport, sees func(uid uint32) bool) []wire.Sweep {
	out, at := []wire.Sweep{}, map[elastic.SweepKey]int{}
	for i := range r.Jobs {
		jr := &r.Jobs[i]
		rec := &jr.Record
		token := rec.Tag.Spec.Sweep
		if token == "" || !sees(rec.Owner.UID) {
			continue
		}
		of := known[token]
		if of.UID != rec.Owner.UID {
			of = SweepReport{}
		}
		key := elastic.SweepKey{Token: token, UID: rec.Owner.UID}
		n, met := at[key]
		if !met {
			n = len(out)
			at[key] = n
			out = append(out, newSweep(token, of.Sweep, jr))
		}
		v := &out[n]
		if of.Number == 0 && (v.Number == 0 || int64(rec.ID) < v.Number) {
			v.Number = int64(rec.ID)
		}
		if jr.Ended {
			continue
		}
		lane := wire.SweepLane{JobID: int64(rec.ID), GPUs: jr.Job.GPUs()}
		if trials := of.Running[rec.Token]; len(trials) > 0 {
			lane.Trial, lane.Beside = trials[0], trials[1:]
		}
		v.Lanes = append(v.Lanes, lane)
		v.GPUs += lane.GPUs
	}
	for i := range out {
		slices.SortFunc(out[i].Lanes, func(a, b wire.SweepLane) int { return cmp.Compare(a.JobID, b.JobID) })
	}
	slices.SortFunc(out, func(a, b wire.Sweep) int {
		return cmp.Or(cmp.Compare(a.Number, b.Number), cmp.Compare(a.Token, b.Token))
	})
	return out
}

// viewTrial is the trial of a lane, with those beside it.
func viewTrial(t elastic.Trial) wire.Trial {
	out := wire.Trial{Sweep: int64(t.Sweep), Trial: t.Number, Epoch: finite(t.Epoch), Metric: t.Metric}
	if t.Known {
		value := finite(t.Value)
		out.Value = &value
	}
	for _, other := range t.Beside {
		out.Beside = append(out.Beside, viewTrial(other))
	}
	return out
}

// newSweep is a sweep without its lanes.
func newSweep(token string, known wire.Sweep, jr *publish.JobReport) wire.Sweep {
	rec := &jr.Record
	if known.State == "" {
		known = wire.Sweep{Name: rec.Name, State: "waiting", Bests: []wire.SweepBest{}, Levels: []wire.SweepLevel{}}
	}
	known.Token, known.User, known.UID, known.Account, known.Lanes = token, rec.Owner.User, rec.Owner.UID, cmp.Or(jr.Job.Account, rec.Account.Name), []wire.SweepLane{}
	return known
}
