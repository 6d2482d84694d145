package control

import (
	"cmp"
	"context"
	"slices"
	"strconv"
	"time"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/control/wire"
	"github.com/sluice-hpc/sluice/elastic/engine/publish"
	"github.com/sluice-hpc/sluice/elastic/sweep/digest"
)

// lookWithin bounds the time for the trials of a sweep. The folders of a user may hang: it delays answers
// about that user's sweeps only.
const lookWithin = 4 * time.Second

// sweep answers with trials of the sweep in the path, to its user and to operators. A sweep that the caller
// may not see is reported as not existing.
func (s *Server) sweep(q request) (any, error) {
	number, query, err := readSweep(q)
	if err != nil {
		return nil, err
	}
	r, err := s.published()
	if err != nil {
		return nil, err
	}
	all := viewSweeps(r, s.service.Sweeps(), func(uint32) bool { return true })
	v, found := pick(all, number, q.caller.UID, r)
	allowed := found && may(verbSweep, q.options.role(q.caller, v.UID), q.options.Private)
	if found && !allowed {
		s.denied(Denial{Caller: q.caller, From: q.caller.Host, Verb: string(verbSweep), Why: "it belongs to another user"})
	}
	switch {
	case !found || !q.seesJobsOf(v.UID):
		return nil, wire.Fail(wire.NotFound, "'sluice sweep list' lists your own, also those that have ended", "sluiced looks after no sweep %d", number)
	case !allowed:
		return nil, wire.Fail(wire.Denied, "only its user and operators may", "the parameters of sweep %d belong to %s, you are %s", number, v.User, q.caller.Name)
	case !s.looks.take(q.caller.UID, q.options.Now()):
		return nil, wire.Fail(wire.TooMany, "try again in a few seconds", "%s looks at sweeps too often", q.caller.Name)
	}
	ctx, cancel := context.WithTimeout(q.Context(), lookWithin)
	defer cancel()
	trials, err := s.service.SweepTrials(ctx, v.Token, v.UID, query)
	if err != nil {
		return nil, err
	}
	return wire.SweepTrials{Version: wire.Version, At: r.At, Number: v.Number, Token: v.Token, User: v.User, Digest: trials}, nil
}

// readSweep reads and checks a request.
func readSweep(q request) (number int64, query digest.Query, err error) {
	number, err = strconv.ParseInt(q.PathValue("sweep"), 10, 64)
	if err != nil || number < 1 {
		return 0, query, wire.Fail(wire.BadRequest, "", "%.40q is not the number of a sweep", q.PathValue("sweep"))
	}
	asked := q.URL.Query()
	query.Sort = cmp.Or(asked.Get("sort"), digest.ByResult)
	if query.Sort != digest.ByResult && query.Sort != digest.ByNumber {
		return 0, query, wire.Fail(wire.BadRequest, "", "sort %.40q: want %s or %s", query.Sort, digest.ByResult, digest.ByNumber)
	}
	query.From, err = strconv.Atoi(cmp.Or(asked.Get("from"), "0"))
	if err != nil || query.From < 0 {
		return 0, query, wire.Fail(wire.BadRequest, "", "from %.40q: want a number of at least 0", asked.Get("from"))
	}
	return number, query, nil
}

// pick returns the sweep of a number. Numbers are written by users, and Slurm may reuse one: the caller's
// own sweep counts first, then one of which the job of that number is a lane.
func pick(all []wire.Sweep, number int64, caller uint32, r *publish.Report) (wire.Sweep, bool) {
	jr, has := lookup(r, elastic.JobID(number))
	rank := func(s wire.Sweep) int {
		switch {
		case s.UID == caller:
			return 2
		case has && jr.Record.Owner.UID == s.UID && jr.Record.Tag.Spec.Sweep == s.Token:
			return 1
		}
		return 0
	}
	all = slices.DeleteFunc(slices.Clone(all), func(s wire.Sweep) bool { return s.Number != number })
	if len(all) == 0 {
		return wire.Sweep{}, false
	}
	return slices.MaxFunc(all, func(a, b wire.Sweep) int { return rank(a) - rank(b) }), true
}
