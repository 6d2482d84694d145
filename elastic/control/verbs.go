package control

import (
	"cmp"
	"context"
	"net/http"
	"os"
	"slices"
	"strconv"
	"time"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/control/wire"
	"github.com/sluice-hpc/sluice/elastic/engine/journal"
	"github.com/sluice-hpc/sluice/elastic/engine/publish"
	"github.com/sluice-hpc/sluice/nodes"
)

// routes is the whole API.
func (s *Server) routes() http.Handler {
	m := http.NewServeMux()
	m.Handle("GET /v1/status", s.general(verbStatus, false, s.status))
	m.Handle("GET /v1/report", s.general(verbReport, false, s.report))
	m.Handle("GET /v1/shares", s.general(verbShares, false, s.shares))
	m.Handle("GET /v1/sweeps", s.general(verbSweeps, false, s.sweeps))
	m.Handle("GET /v1/plan", s.general(verbPlan, true, s.plan))
	m.Handle("GET /v1/usage", s.general(verbUsage, true, s.usage))
	m.Handle("GET /v1/speed", s.handle(verbSpeed, true, s.speed))
	m.Handle("GET /v1/jobs/{job}/explain", s.onJob(verbExplain, false, s.explain))
	m.Handle("GET /v1/jobs/{job}/history", s.onJob(verbHistory, false, s.history))
	m.Handle("POST /v1/jobs/{job}/direct", s.onJob(verbDirect, true, s.direct))
	m.Handle("POST /v1/nodes/{node}/trust", s.general(verbTrust, true, s.trust))
	m.Handle("POST /v1/event", s.general(verbEvent, false, s.event))
	m.HandleFunc("GET /v1/events", s.events)
	m.Handle("GET /v1/history", s.general(verbPast, false, s.past))
	m.Handle("GET /v1/forecast", s.general(verbExpect, false, s.forecast))
	m.Handle("POST /v1/forecast", s.handle(verbWhatIf, true, s.whatIf))
	m.Handle("/", s.handle("", false, unknown))
	return m
}

func unknown(q request) (any, error) {
	return nil, wire.Fail(wire.NotFound, "is it the sluice that was installed with the daemon?", "sluiced has no %s %s", q.Method, q.URL.Path)
}

// published returns the last report.
func (s *Server) published() (*publish.Report, error) {
	if r := s.service.Report(); r != nil {
		return r, nil
	}
	return nil, wire.Fail(wire.Unavailable, "try again in a few seconds", "sluiced has just started and not looked at Slurm yet")
}

func (s *Server) status(q request) (any, error) {
	out := wire.Status{Version: wire.Version, Program: q.options.Version, PID: os.Getpid(), Mode: "system",
		User: s.names.of(q.options.UID, q.options.Now()), Started: q.options.Started, Service: q.options.Service}
	if q.options.Self != nil {
		out.Goroutines, out.Cycles, out.Live = q.options.Self()
	}
	if q.options.Speeds != nil {
		out.SpeedsWaiting, out.SpeedsDropped = q.options.Speeds()
	}
	if q.options.Messages != nil {
		out.Messages = q.options.Messages()
	}
	if q.options.Troubles != nil {
		out.Troubles = q.options.Troubles()
	}
	if q.options.UserMode {
		out.Mode = "user"
	}
	out.Streams = s.Streams()
	if r := s.service.Report(); r != nil {
		fillStatus(&out, r, q.options.Now())
	}
	return out, nil
}

// report answers with all jobs of the last report, or with ended=false those that have not
// ended: clients list these far more often, and a day's ended jobs may be many.
func (s *Server) report(q request) (any, error) {
	ended, err := strconv.ParseBool(cmp.Or(q.URL.Query().Get("ended"), "true"))
	if err != nil {
		return nil, wire.Fail(wire.BadRequest, "", "ended %.40q: want true or false", q.URL.Query().Get("ended"))
	}
	s.service.Refresh(q.Context())
	r, err := s.published()
	if err != nil {
		return nil, err
	}
	return s.seen.report(r, q, ended), nil
}

// plan observes Slurm, which may take long, so it is refused BEFORE that if there is no report
// yet. The report is read again afterwards: a cycle may have ended meanwhile.
func (s *Server) plan(q request) (any, error) {
	if _, err := s.published(); err != nil {
		return nil, err
	}
	p, err := s.service.Plan(q.Context())
	if err != nil {
		return nil, err
	}
	r, err := s.published()
	if err != nil {
		return nil, err
	}
	return viewPlan(r, p, q.sees), nil
}

// explain answers with the job's sizes, and with the work that its runs repeated.
func (s *Server) explain(q request, r *publish.Report, jr publish.JobReport) (any, error) {
	r, jr = s.afresh(q, r, jr)
	out := viewExplanation(r, jr)
	out.Rank = viewRank(r, jr, q.sees)
	segments, err := s.service.Segments(q.Context(), jr.Record.Token)
	if err != nil {
		return nil, err
	}
	for _, g := range viewHistory(r, jr, segments).Segments {
		if g.Again > 0 {
			out.Again.Runs, out.Again.Work, out.Again.Seconds = out.Again.Runs+1, out.Again.Work+g.Again, out.Again.Seconds+g.AgainSeconds
		}
	}
	return out, nil
}

// afresh returns the report, and its entry for the job, after a look at what running jobs have
// written.
func (s *Server) afresh(q request, r *publish.Report, jr publish.JobReport) (*publish.Report, publish.JobReport) {
	s.service.Refresh(q.Context())
	if fresh := s.service.Report(); fresh != nil {
		if again, ok := lookup(fresh, jr.Record.ID); ok && again.Record.Token == jr.Record.Token {
			return fresh, again
		}
	}
	return r, jr
}

// withPresent returns the runs with the present one as it is now; the journal has it as of the
// last cycle.
func withPresent(segments []journal.Segment, jr publish.JobReport) []journal.Segment {
	last := len(segments) - 1
	if jr.Ended || last < 0 || segments[last].Restarts != jr.Run.Restarts || !segments[last].Ended.IsZero() {
		return segments
	}
	segments = slices.Clone(segments)
	segments[last].DoneFrom, segments[last].DoneTo, segments[last].Seconds = jr.Run.DoneFrom, jr.Run.DoneTo, jr.Run.Seconds
	return segments
}

// history answers with the job's runs. For a live job its time is now, since the last run goes
// on, unless Slurm cannot be seen: then, as for an ended job, that of the report.
func (s *Server) history(q request, r *publish.Report, jr publish.JobReport) (any, error) {
	r, jr = s.afresh(q, r, jr)
	segments, err := s.service.Segments(q.Context(), jr.Record.Token)
	if err != nil {
		return nil, err
	}
	out := viewHistory(r, jr, withPresent(segments, jr))
	if !jr.Ended && r.Blind == "" {
		out.At = q.options.Now()
	}
	return out, nil
}

func (s *Server) direct(q request, r *publish.Report, jr publish.JobReport) (any, error) {
	var change wire.Change
	if err := q.read(&change); err != nil {
		return nil, err
	}
	// Validate looks at the change alone, fits at the change for this job as of the last report.
	// The report may be old: the engine checks again before it writes.
	if err := change.Validate(); err != nil {
		return nil, wire.Fail(wire.BadRequest, "", "%v", err)
	}
	if err := fits(r, jr, change); err != nil {
		return nil, err
	}
	if change.Order == wire.NewDeadline {
		return s.deadline(q, jr, change)
	}
	return struct{}{}, s.service.Direct(q.Context(), q.caller, jr.Record.ID, change)
}

// fits refuses an order that is impossible for the job as it is.
func fits(r *publish.Report, jr publish.JobReport, change wire.Change) error {
	id := jr.Record.ID
	if jr.Ended {
		return wire.Fail(wire.Conflict, "", "job %d has ended (%s)", id, jr.Record.State)
	}
	if now := jr.Record.Tag.Incarnation; change.Incarnation != 0 && change.Incarnation < now {
		return wire.Fail(wire.Conflict, "", "job %d is at incarnation %d by now: an order of its incarnation %d does not count", id, now, change.Incarnation)
	}
	if change.Order.Once() && jr.Job.Phase != elastic.Running {
		return wire.Fail(wire.Conflict, "", "job %d does not run: there is nothing to save", id)
	}
	spec := jr.Record.Tag.Spec
	if err := deadlineFits(id, spec, change, r.At); err != nil {
		return err
	}
	limit := max(capacity(r.Nodes, jr.Record.Partition), spec.Min)
	if change.Order == wire.Pin && !spec.Allows(change.GPUs, limit) {
		return wire.Fail(wire.Conflict, "", "job %d cannot be pinned to %d GPUs: it accepts %s", id, change.GPUs, sizesInWords(spec.Options(limit)))
	}
	if change.Order == wire.Pin && len(attainable(r, jr, []int{change.GPUs})) == 0 {
		return wire.Fail(wire.Conflict, "", "job %d cannot be pinned to %d GPUs: Slurm gives a job all its GPUs on one node or the same number on each of several, here %s%s",
			id, change.GPUs, sizesInWords(attainable(r, jr, spec.Options(limit))), unlessUneven(spec))
	}
	return nil
}

// unlessUneven names the option that lifts the bound, unless the job uses it.
func unlessUneven(s elastic.Spec) string {
	if s.AllowUneven {
		return ""
	}
	return "; 'sluice submit --allow-uneven' admits other splits"
}

// trust drops the complaints about a node's GPUs.
func (s *Server) trust(q request) (any, error) {
	node := q.PathValue("node")
	r, err := s.published()
	if err != nil {
		return nil, err
	}
	if !slices.ContainsFunc(r.Nodes, func(n nodes.Node) bool { return n.Name == node }) {
		return nil, wire.Fail(wire.NotFound, "'sluice nodes' lists them", "no node %.80q", node)
	}
	return struct{}{}, s.service.Trust(q.Context(), q.caller, node)
}

func (s *Server) event(q request) (any, error) {
	var e wire.Event
	if err := q.read(&e); err != nil {
		return nil, err
	}
	if e.JobID < 0 || len(e.Kind) > 32 {
		return nil, wire.Fail(wire.BadRequest, "", "event: want a job number of at least 0 and a kind of at most 32 bytes")
	}
	// Events have their own limit, so that a loop of submits never uses up what its user needs
	// for orders. One beyond it is no error: what it tells of is seen in a cycle soon after.
	if s.wakes.take(q.caller.UID, q.options.Now()) {
		s.service.Wake()
	} else {
		s.later.call(s.wakes.every, s.service.Wake)
	}
	return struct{}{}, nil
}

// about finds the job of a request and checks that the caller may use the verb on it. A job
// that the caller may not see is reported as not existing.
func (s *Server) about(q request, v verb) (*publish.Report, publish.JobReport, error) {
	id, err := strconv.ParseInt(q.PathValue("job"), 10, 64)
	if err != nil || id < 1 {
		return nil, publish.JobReport{}, wire.Fail(wire.BadRequest, "", "%.40q is not a job number", q.PathValue("job"))
	}
	r, err := s.published()
	if err != nil {
		return nil, publish.JobReport{}, err
	}
	jr, ok := lookup(r, elastic.JobID(id))
	if !ok || !q.sees(jr) { // both cases take the same time, so that the time does not reveal which it was
		r = s.lookAgain(q, r, elastic.JobID(id))
		jr, ok = lookup(r, elastic.JobID(id))
	}
	if ok && !may(v, q.options.role(q.caller, jr.Record.Owner.UID), q.options.Private) {
		s.denied(Denial{Caller: q.caller, From: q.caller.Host, Verb: string(v), Job: jr.Record.ID, Why: "it belongs to another user"})
	}
	if !ok || !q.sees(jr) {
		return nil, publish.JobReport{}, wire.Fail(wire.NotFound, "'sluice queue' lists the jobs sluice looks after", "no sluice job %d", id)
	}
	if !may(v, q.options.role(q.caller, jr.Record.Owner.UID), q.options.Private) {
		return nil, publish.JobReport{}, wire.Fail(wire.Denied, "only its owner and operators may", "job %d belongs to %s, you are %s", id, jr.Record.Owner.User, q.caller.Name)
	}
	return r, jr, nil
}

// freshWithin is how long an order about an unknown job waits for a newer report: an order
// given right after sluice submit finds its job. It MUST be shorter than the client's own
// deadline.
const freshWithin = 3500 * time.Millisecond

// newReports is how many newer reports show that there is no such job: the cycle of the first
// may have looked before the job was submitted.
const newReports = 2

// lookAgain has the daemon look up the job, else asks for a cycle. It returns the first report
// with the job, or the last one that came in time, or the old one if the caller exceeds its
// rate.
func (s *Server) lookAgain(q request, old *publish.Report, id elastic.JobID) *publish.Report {
	if !s.orders.take(q.caller.UID, q.options.Now()) {
		return old
	}
	ctx, cancel := context.WithTimeout(q.Context(), freshWithin)
	defer cancel()
	s.service.Meet(ctx, id)
	if r := s.service.Report(); r != nil {
		if jr, ok := lookup(r, id); ok && q.sees(jr) {
			return r
		}
	}
	s.service.Wake()
	poll := time.NewTicker(20 * time.Millisecond)
	defer poll.Stop()
	for n := 0; n < newReports; {
		select {
		case <-ctx.Done():
			return old
		case <-poll.C:
		}
		if r := s.service.Report(); r != nil && r.At.After(old.At) {
			old, n = r, n+1
			if jr, ok := lookup(r, id); ok && q.sees(jr) {
				return r
			}
			if n < newReports {
				s.service.Wake()
			}
		}
	}
	return old
}

// lookup finds a job by number. Slurm may reuse a number after its state was lost: a live job
// is preferred, then the newest.
func lookup(r *publish.Report, id elastic.JobID) (publish.JobReport, bool) {
	var best publish.JobReport
	found := false
	for _, jr := range r.Jobs {
		if jr.Record.ID != id {
			continue
		}
		newer := jr.Record.Submitted.After(best.Record.Submitted)
		if !found || best.Ended && !jr.Ended || best.Ended == jr.Ended && newer {
			best, found = jr, true
		}
	}
	return best, found
}

// sees reports whether the caller may see the job.
func (q request) sees(jr publish.JobReport) bool {
	return q.seesJobsOf(jr.Record.Owner.UID)
}
