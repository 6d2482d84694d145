package fake

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/sluice-hpc/sluice/slurm"
)

var zero time.Time

// Session is the fake as seen by one user: a slurm.Client whose calls have that user's
// rights. An operator may change every job.
type Session struct {
	f      *Fake
	user   string
	name   string
	steady bool
	inside bool    // the call is made by the fake itself, which holds the lock
	now    []Fault // of the present call
}

var _ slurm.Client = (*Session)(nil)

// As returns a Session of the user.
func (f *Fake) As(user string) *Session {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.uid(user)
	return &Session{f: f, user: user, name: user}
}

// Named returns the same Session under another name in the log and in Causes, to
// distinguish a program from the person whose account it uses.
func (s *Session) Named(name string) *Session {
	c := *s
	c.name = name
	return &c
}

// Steady returns the same Session, exempt from the plan of faults and not counted by it,
// for the test's own actions. An outage still affects it.
func (s *Session) Steady() *Session {
	c := *s
	c.steady = true
	return &c
}

func (s *Session) operator() bool {
	return s.user == "root" || slices.Contains(s.f.cfg.Operators, s.user)
}

// failure is an error answer of Slurm.
type failure struct {
	kind  error
	words string
}

func fail(kind error, words string) *failure { return &failure{kind, words} }

// call runs one command under the lock and applies the plan of faults.
func (s *Session) call(ctx context.Context, op string, id slurm.JobID, do func() *failure) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	f := s.f
	if !s.inside {
		f.mu.Lock()
		defer f.mu.Unlock()
	}
	wrap := func(a *failure) error {
		if a == nil {
			return nil
		}
		return &slurm.Error{Op: op, JobID: id, Err: a.kind, Words: a.words}
	}
	faults := s.due(op)
	f.strikeAll(faults, id, false)
	if f.now.Before(f.downUntil) {
		return wrap(fail(slurm.ErrControllerDown, "Unable to contact slurm controller (connect failure)"))
	}
	if a := refusal(op, faults); a != nil {
		f.note(s, op, id, a)
		return wrap(a)
	}
	for _, fault := range faults {
		if fault.Kind == Late && op != opJobs && op != opNodes && op != opJob && op != opPast {
			f.after(fault.For, func() {
				if !f.now.Before(f.downUntil) { // else it was lost with slurmctld
					f.note(s, op, id, do())
				}
			})
			return wrap(fail(slurm.ErrUnknownOutcome, "Socket timed out on send/recv operation"))
		}
	}
	s.now = faults
	a := do()
	f.note(s, op, id, a)
	f.strikeAll(faults, id, true)
	for _, fault := range faults {
		if fault.Kind == LostReply {
			return wrap(fail(slurm.ErrUnknownOutcome, "Socket timed out on send/recv operation"))
		}
	}
	return wrap(a)
}

// due counts the call and returns the faults planned for it.
func (s *Session) due(op string) []Fault {
	if s.steady {
		return nil
	}
	s.f.counts[op]++
	return s.f.cfg.Faults.due(op, s.f.counts[op])
}

// note logs a call that changes something, or would have.
func (f *Fake) note(s *Session, op string, id slurm.JobID, a *failure) {
	if op == opJobs || op == opNodes || op == opJob || op == opLimits || op == opShares || op == opPast {
		return
	}
	line := fmt.Sprintf("%s %s", s.name, op)
	if id != 0 {
		line += fmt.Sprintf(" %d", id)
	}
	if a != nil {
		line += ": " + a.kind.Error()
	} else {
		f.changes = append(f.changes, Change{At: f.now, By: s.name, Op: op, Job: id})
	}
	f.logf("%s", line)
}

// The names of the calls, as faults and errors use them.
const (
	opJobs             = "squeue"
	opNodes            = "scontrol show nodes"
	opJob              = "scontrol show job"
	opSubmit           = "sbatch"
	opSignal           = "scancel --signal"
	opRequeueHold      = "scontrol requeuehold"
	opRevive           = "scontrol requeuehold failed"
	opClear            = "scontrol requeuehold pending"
	opRequeue          = "scontrol requeue"
	opRequeueRunning   = "scontrol requeue incomplete"
	opRequeueFailed    = "scontrol requeue failed"
	opRequeueLingering = "scontrol requeue pending"
	opUpdate           = "scontrol update"
	opDefer            = "scontrol update starttime"
	opStart            = "scontrol update starttime now"
	opPass             = "scontrol update requeue"
	opHold             = "scontrol uhold"
	opAdminHold        = "scontrol hold"
	opRelease          = "scontrol release"
	opCancel           = "scancel"
	opLimits           = "sacctmgr show"
	opShares           = "sshare"
	opPast             = "sacct"
)

// Ops returns the names of the calls of a slurm.Client but for those of DeferOps. Faults
// name them.
func Ops() []string {
	return []string{opJobs, opNodes, opJob, opSubmit, opSignal, opRequeueHold, opRevive, opClear, opUpdate, opHold, opRelease, opCancel, opPass}
}

// DeferOps returns the names of the calls of slurm.Deferrer, which faults name too.
func DeferOps() []string {
	return []string{opRequeueRunning, opRequeueFailed, opRequeueLingering, opDefer, opStart}
}

// Jobs returns every job still remembered, in order of id.
func (s *Session) Jobs(ctx context.Context) (out []slurm.Job, err error) {
	err = s.call(ctx, opJobs, 0, func() *failure {
		now := make([]slurm.Job, len(s.f.jobs))
		for i, j := range s.f.jobs {
			now[i] = j.view(s.f)
		}
		out = distorted(s.now, now, &s.f.lastJobs)
		return nil
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

// Nodes returns every node.
func (s *Session) Nodes(ctx context.Context) (out []slurm.Node, err error) {
	err = s.call(ctx, opNodes, 0, func() *failure {
		now := make([]slurm.Node, len(s.f.nodes))
		for i, n := range s.f.nodes {
			now[i] = n.view()
			if s.f.reservedNow(n) {
				now[i].States = append(now[i].States, "RESERVED")
			}
		}
		out = distorted(s.now, now, &s.f.lastNodes)
		return nil
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

// distorted is a listing as changed by planned faults; last keeps the true one of the
// call before.
func distorted[T any](faults []Fault, now []T, last *[]T) []T {
	seen := now
	for _, fault := range faults {
		switch fault.Kind {
		case Empty:
			seen = nil
		case Half:
			seen = now[:len(now)/2]
		case Stale:
			seen = *last
		}
	}
	*last = now
	return slices.Clone(seen)
}

// Job returns one job with its split.
func (s *Session) Job(ctx context.Context, id slurm.JobID) (d slurm.Detail, err error) {
	err = s.call(ctx, opJob, id, func() *failure {
		j := s.f.find(id)
		if j == nil {
			return notFound()
		}
		d = j.detail(s.f)
		return nil
	})
	if err != nil {
		return slurm.Detail{}, err
	}
	return d, nil
}

// Submit accepts a job script. Unknown options are accepted and have no effect.
func (s *Session) Submit(ctx context.Context, sub slurm.Submission) (id slurm.JobID, line string, err error) {
	err = s.call(ctx, opSubmit, 0, func() (a *failure) {
		id, line, a = s.f.submit(s.user, sub)
		return a
	})
	if err != nil {
		return 0, "", err
	}
	return id, line, nil
}

func (f *Fake) submit(user string, sub slurm.Submission) (slurm.JobID, string, *failure) {
	r, err := parse(sub)
	if err != nil {
		return 0, "", fail(slurm.ErrRefused, "sbatch: error: "+err.Error())
	}
	j := &job{
		id: f.nextID, name: r.name, user: user, account: r.account, qos: r.qos, part: r.part, comment: r.comment,
		dir: r.dir, want: r.want, limit: r.limit, endless: r.endless, reservation: r.resv, requeue: r.requeue,
		state: slurm.Pending, prio: f.nextPrio(), first: f.now, submit: f.now, begin: f.begin(r.begin), depends: r.depends, licenses: r.licenses,
	}
	j.stdout = strings.ReplaceAll(r.stdout, "%j", fmt.Sprint(j.id))
	if a := f.admit(j); a != nil {
		return 0, "", a
	}
	f.nextID++
	if r.held {
		j.held = userHold
	}
	j.reason = j.pendingReason(f.now)
	if f.cfg.Programs != nil {
		j.program = f.cfg.Programs(j.id, sub)
	}
	if j.program == nil {
		j.program = ParseScript(sub.Stdin)
	}
	f.jobs = append(f.jobs, j)
	f.logf("job %d submitted by %s: %s", j.id, user, j.want)
	f.wakeAt(j)
	if r.parsable {
		return j.id, fmt.Sprint(j.id), nil
	}
	return j.id, fmt.Sprintf("Submitted batch job %d", j.id), nil
}

// admit refuses what Slurm refuses at submit, and picks the partition.
func (f *Fake) admit(j *job) *failure {
	if j.part == "" {
		j.part = f.nodes[0].Partitions[0]
	}
	j.parts = strings.Split(j.part, ",")
	for _, part := range j.parts {
		if !slices.ContainsFunc(f.nodes, func(n *node) bool { return slices.Contains(n.Partitions, part) }) {
			return fail(slurm.ErrRefused, "Batch job submission failed: Invalid partition name specified")
		}
	}
	j.part = j.parts[0]
	if a := f.knownNodes(j.want.req); a != nil {
		return a
	}
	for _, refuse := range []func(*job) *failure{f.enroll, f.takes, f.enter, f.featured, f.unlicensed} {
		if a := refuse(j); a != nil {
			return a
		}
	}
	if !f.anywhere(j) {
		return fail(slurm.ErrRefused, "Batch job submission failed: Requested node configuration is not available")
	}
	return nil
}

// anywhere reports whether one of the job's partitions could ever run it, or is closed to
// it at present.
func (f *Fake) anywhere(j *job) bool {
	defer func(first string) { j.part = first }(j.part)
	for _, j.part = range j.parts {
		if f.closed(j) != "" || f.impossible(j, func(n *node) int { return n.CPUs }) != badConstraints {
			return true
		}
	}
	return false
}

func (f *Fake) knownNodes(names []string) *failure {
	for _, name := range names {
		if f.node(name) == nil {
			return fail(slurm.ErrRefused, "Invalid node name specified")
		}
	}
	return nil
}

func (f *Fake) nextPrio() int64 {
	f.prio--
	return f.prio
}

func notFound() *failure { return fail(slurm.ErrNotFound, "Invalid job id specified") }
