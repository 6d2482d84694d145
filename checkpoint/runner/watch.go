package runner

import (
	"encoding/json"
	"time"

	"github.com/sluice-hpc/sluice/checkpoint"
)

// watch is what was seen of requests and checkpoints.
type watch struct {
	settled string    // the request that an earlier run answered
	gaveUp  string    // the request that was honoured long enough
	until   time.Time // its deadline then: a later one renews it
	since   time.Time // when the present request, or the answer to it, came

	id     string          // the last request passed on
	handed bool            // it is in the job's folder
	at     time.Time       // since when
	base   string          // newest complete checkpoint before it
	judged map[string]bool // checkpoints that do not answer it

	proved string // newest checkpoint verified in this run
	bad    string // newest checkpoint found bad in this run
}

// pace is how often to look: more often while an answer is due, because every moment is
// dead time.
func (r *run) pace() time.Duration {
	if r.state.phase == checkpoint.Saving && !r.ownStands() {
		return r.Poll / 4
	}
	return r.Poll
}

// look looks for a request, and for the answer to it.
func (r *run) look() {
	if r.alone || r.state.phase == checkpoint.Starting {
		return
	}
	request, err := r.job.request()
	r.complain("reading the request", err)
	if err == nil { // else nothing changes: a temporary file system error withdraws no request
		r.consider(request)
	}
	if r.state.request != nil && !r.watch.handed {
		r.relay(*r.state.request)
	}
	if r.adopted.habit != nil && r.state.phase == checkpoint.Waiting && r.Now().Sub(r.watch.since) > r.Stands {
		r.watch.base = r.newestSealed()
		r.happen(passed{})
		r.melt()
		r.freezing = freezing{} // the next answer is judged anew
	}
	if r.state.phase == checkpoint.Saving && r.state.verifying == "" && !r.ownStands() {
		if name := r.answering(); name != "" {
			r.happen(sealed{name})
		}
	}
}

// consider turns the contents of the outbox into an event.
func (r *run) consider(request *checkpoint.Request) {
	present := r.state.request
	switch {
	case (request == nil || request.ID == r.watch.settled) && r.ownStands():
	case request == nil || request.ID == r.watch.settled:
		r.happen(withdrawn{})
	case request.ID == r.watch.gaveUp && !request.Deadline.After(r.watch.until):
		return
	case present == nil || present.ID != request.ID || !present.Deadline.Equal(request.Deadline):
		r.watch.since = r.Now()
		r.happen(asked{*request})
	case r.Now().Sub(r.watch.since) > r.limit(*request):
		// The request was not withdrawn and the job was not stopped: sluiced does not
		// run. The GPUs must not be idle until it returns.
		r.say("the request to save (%s) was neither withdrawn nor followed by a stop; training continues", own(request.Why))
		r.watch.gaveUp, r.watch.until = request.ID, request.Deadline
		r.happen(withdrawn{})
	}
}

// limit is how long a request is honoured. It is measured on this machine's clock from
// the time at which the request was seen: clocks differ between machines.
func (r *run) limit(request checkpoint.Request) time.Duration {
	return max(0, request.Deadline.Sub(request.Asked)) + r.Patience
}

// relay passes the request to the program, in the job's own folder: the outbox need not
// be visible where the program runs, and only the runner decides how long a request is
// valid.
func (r *run) relay(request checkpoint.Request) {
	if r.watch.id != request.ID {
		r.watch.id, r.watch.handed = request.ID, false
		r.watch.base, r.watch.judged = r.newestSealed(), map[string]bool{}
	}
	data, err := json.Marshal(request)
	if err == nil {
		err = r.job.ask(append(data, '\n'))
	}
	r.complain("handing on the request to save", err)
	if err == nil && !r.watch.handed { // look tries again after a failure
		r.watch.handed, r.watch.at = true, r.Now()
	}
}

func (r *run) unrelay() {
	r.watch.id, r.watch.handed, r.watch.judged = "", false, nil
	r.complain("taking back the request", r.job.unrelay())
}

// answering returns a checkpoint, complete by its manifest, that answers the present
// request: one that names it, or one that names none and was begun after the request had
// been passed on, for programs that get requests only as a signal.
func (r *run) answering() string {
	request := r.state.request
	if request == nil || !r.watch.handed {
		return ""
	}
	var answer string
	err := r.job.series(func(s *checkpoint.Series) error {
		names, err := s.Names()
		for _, name := range names {
			if name <= r.watch.base {
				break
			}
			if r.watch.judged[name] {
				continue
			}
			m, bad := s.Manifest(name)
			if bad != nil {
				continue // being written
			}
			if m.Request == request.ID || (m.Request == "" && m.Restarts == r.job.restarts && m.Created.After(r.watch.at)) {
				answer = name
				break
			}
			r.watch.judged[name] = true
		}
		return err
	})
	r.complain("listing the checkpoints", err)
	return answer
}

// proven records the result of a verification.
func (w *watch) proven(p proved) {
	switch {
	case p.checkpoint.Manifest.Sequence > 0:
		w.proved = max(w.proved, p.checkpoint.Name)
	case p.answer != nil && w.judged != nil:
		w.judged[p.answer.name] = true
	case p.checkpoint.Name != "":
		w.bad = p.checkpoint.Name
	}
}
