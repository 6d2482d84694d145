package runner

import (
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/sluice-hpc/sluice/checkpoint"
)

// A program that does not use sluice trains on while its newest checkpoint is summed and
// verified and sluiced stops the job; this training is lost. So the program is stopped by
// SIGSTOP from the moment at which the checkpoint that will be the answer is complete,
// until the job is stopped or the move is abandoned.
//
// A stopped program writes nothing, so unchanged files prove nothing. It is therefore
// frozen early only for a checkpoint that can be recognised as complete: see whole. The
// usual waiting time still applies, because what is not frozen may still write: ranks on
// other nodes, or file systems that lag behind. All other programs are frozen after the
// adoption.

const (
	// frozenMost bounds a freeze until the answer exists, and once more after that:
	// collectives and connections of the program must survive a freeze without a stop.
	frozenMost = 10 * time.Second
	// lookSoon is how often the program's folder is examined while an answer is due.
	lookSoon = 100 * time.Millisecond
	// mostThaws bounds how often, for one request, a program that continues to write is
	// frozen.
	mostThaws = 20
)

// freezing is the state of freezing for one request.
type freezing struct {
	request  string // the request's id
	on       bool
	path     string // the checkpoint for which it was frozen early; "" = it was not
	thaws    int    // how often it was continued
	spent    bool   // a freeze lasted too long: it is not frozen again
	answered bool   // it was frozen, or kept frozen, for its answer
}

// stops reports whether the job is stopped as soon as the pending request is answered.
func (r *run) stops() bool {
	q := r.state.request
	return q != nil && q.Stop && !q.Continue && r.watch.handed && r.adopted.habit != nil && r.child != nil && !r.state.stopping &&
		(r.state.phase == checkpoint.Saving || r.state.phase == checkpoint.Waiting)
}

// chill freezes the program early if a look found a new checkpoint that appears complete,
// and continues it if that proves wrong.
func (r *run) chill() {
	a, f := &r.adopted, &r.freezing
	if f.on && f.path != "" {
		if s := a.seen[f.path]; s == nil || !r.whole(s.sighting) {
			r.melt()
			f.thaws++
		}
		return
	}
	if f.on || !r.stops() || r.state.phase != checkpoint.Saving || f.request == r.state.request.ID && f.thaws > mostThaws {
		return
	}
	s, there := a.seen.coming()
	if !there || !r.whole(s) || !r.freeze() {
		return
	}
	f.path = s.path
	if r.family.Writing(s.holds) {
		r.melt()
		f.thaws++
		return
	}
	a.after = r.Now() // its state now that nothing is being written
}

// whole reports whether a checkpoint with its marker is complete although it may just
// have been written. On one GPU the process that wrote the marker writes everything. On
// several GPUs it must have every file that any adopted checkpoint on as many had; see
// record.Shapes.
func (r *run) whole(s sighting) bool {
	rec := &r.adopted.record
	if !s.marked || s.number < 0 || rec.rewrites(s) {
		return false
	}
	if r.where.gpus == 1 {
		return true
	}
	has, had := s.shape(), rec.Shapes[r.where.gpus]
	return len(had) > 0 && !slices.ContainsFunc(had, func(name string) bool { return !slices.Contains(has, name) })
}

// shape is the names of its files, without the number that distinguishes it from others.
func (s sighting) shape() (names []string) {
	for _, e := range s.tree.Entries {
		names = append(names, strings.ReplaceAll(e.Path, strconv.FormatInt(s.number, 10), "#"))
	}
	return names
}

// holds reports whether the path of an open file may be one of its files. In a container
// the folders above may have other names.
func (s sighting) holds(open string) bool {
	open = strings.TrimSuffix(open, " (deleted)")
	name := "/" + baseName(s.path)
	return strings.HasSuffix(open, name) || strings.Contains(open, name+"/") ||
		slices.ContainsFunc(s.tree.Entries, func(e checkpoint.Entry) bool { return path.Base(e.Path) == path.Base(open) })
}

// freeze stops the program, and reports whether all of its processes are stopped.
func (r *run) freeze() bool {
	f := &r.freezing
	if id := r.state.request.ID; f.request != id {
		*f = freezing{request: id, on: f.on, path: f.path}
	}
	if f.on || f.spent {
		return f.on
	}
	r.hold()
	f.on = true
	return true
}

// freezeAnswered keeps the program frozen, or freezes it, for the time in which it will
// be stopped: once per answer.
func (r *run) freezeAnswered() {
	r.freezing = freezing{request: r.state.request.ID, on: true, answered: true}
	r.hold()
}

// hold stops the program's processes. With srun the tasks are no descendants: those on
// this node are identified by the job's number, and the others wait for them in their
// next collective.
func (r *run) hold() {
	var also func(pid int, name string) bool
	if len(r.family.Named("srun")) > 0 {
		also = func(pid int, name string) bool { return name != "slurmstepd" && r.ours(pid) }
	}
	r.family.Freeze(frozenMost, also)
}

// thaw freezes a program whose answer exists, and continues it once no pending operation
// can lead to a stop.
func (r *run) thaw() {
	a, f := &r.adopted, &r.freezing
	if r.stops() && r.state.phase == checkpoint.Waiting && !(f.request == r.state.request.ID && f.answered) {
		r.freezeAnswered()
		return
	}
	switch {
	case !f.on:
		if a.taking && r.stops() && r.state.phase == checkpoint.Saving {
			r.freeze() // the request came in the meantime, and the checkpoint being adopted answers it
		}
	case !r.family.Frozen():
		f.on, f.path, f.spent = false, "", true
	case !r.stops() || f.request != r.state.request.ID:
		r.melt()
	case r.state.phase == checkpoint.Waiting, a.busy, r.state.verifying != "":
	case f.path == "" || a.seen[f.path] == nil || a.seen[f.path].settled:
		r.melt()
	}
}

func (r *run) melt() {
	if r.freezing.on {
		r.family.Thaw()
	}
	r.freezing.on, r.freezing.path = false, ""
}
