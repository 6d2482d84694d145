package runner

import (
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/sluice-hpc/sluice/checkpoint"
)

// A program that knows nothing of sluice trains on while its newest checkpoint is summed and
// verified and sluiced comes to stop the job; what it trains then is trained again. So it is
// stopped by SIGSTOP from the moment in which the checkpoint that will answer is complete,
// until the job is stopped or the move is given up.
//
// A program that stands still does not write on, so that stillness proves nothing of it. It is
// therefore frozen early only for a checkpoint that can be told to be complete: see whole.
// It rests for the usual time nevertheless, for what is not frozen may still write: ranks on
// other nodes, file systems that are behind. All else is frozen once it was adopted as before.

const (
	// frozenMost bounds a freeze until the answer is there, and once more from then on:
	// collectives and connections of the program must survive one that no stop follows.
	frozenMost = 10 * time.Second
	// lookSoon is how often the program's folder is looked at while an answer is due.
	lookSoon = 100 * time.Millisecond
	// mostThaws bounds how often a program is frozen for one request only to go on writing.
	mostThaws = 20
)

// freezing is where the freezing stands for one request.
type freezing struct {
	request  string // its id
	on       bool
	path     string // the checkpoint for which it was frozen early; "" = it was not
	thaws    int    // times it had to go on
	spent    bool   // a freeze lasted too long: it is not frozen again
	answered bool   // it was frozen, or kept so, for its answer
}

// stops reports whether the job is stopped as soon as the request that stands is answered.
func (r *run) stops() bool {
	q := r.state.request
	return q != nil && q.Stop && !q.Continue && r.watch.handed && r.adopted.habit != nil && r.child != nil && !r.state.stopping &&
		(r.state.phase == checkpoint.Saving || r.state.phase == checkpoint.Waiting)
}

// chill freezes the program early, when a look has found a new checkpoint that appears whole,
// and lets it go on when that proves wrong.
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
	a.after = r.Now() // how it stands now that nothing writes on
}

// whole reports whether a checkpoint with its marker is complete although it may just have been
// written. On one GPU the program that wrote the marker is the one that writes all. On several
// it has every file that any had that was adopted on as many; see record.Shapes.
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

// shape is the names of its files, without the number that tells it from others.
func (s sighting) shape() (names []string) {
	for _, e := range s.tree.Entries {
		names = append(names, strings.ReplaceAll(e.Path, strconv.FormatInt(s.number, 10), "#"))
	}
	return names
}

// holds reports whether the path of an open file may be one of its files. In a container the
// folders above may have other names.
func (s sighting) holds(open string) bool {
	open = strings.TrimSuffix(open, " (deleted)")
	name := "/" + baseName(s.path)
	return strings.HasSuffix(open, name) || strings.Contains(open, name+"/") ||
		slices.ContainsFunc(s.tree.Entries, func(e checkpoint.Entry) bool { return path.Base(e.Path) == path.Base(open) })
}

// freeze stops the program, and reports whether it stands still.
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

// freezeAnswered keeps the program frozen, or freezes it, for the time in which it is to be
// stopped: once for each answer.
func (r *run) freezeAnswered() {
	r.freezing = freezing{request: r.state.request.ID, on: true, answered: true}
	r.hold()
}

// hold stops the program's processes. Below srun the tasks are no descendants: those on this
// node are known by the job's number, and the others wait for them in their next collective.
func (r *run) hold() {
	var also func(pid int, name string) bool
	if len(r.family.Named("srun")) > 0 {
		also = func(pid int, name string) bool { return name != "slurmstepd" && r.ours(pid) }
	}
	r.family.Freeze(frozenMost, also)
}

// thaw freezes a program whose answer is there, and lets it go on once nothing that is under
// way leads to a stop any more.
func (r *run) thaw() {
	a, f := &r.adopted, &r.freezing
	if r.stops() && r.state.phase == checkpoint.Waiting && !(f.request == r.state.request.ID && f.answered) {
		r.freezeAnswered()
		return
	}
	switch {
	case !f.on:
		if a.taking && r.stops() && r.state.phase == checkpoint.Saving {
			r.freeze() // the request came meanwhile, and what is being adopted answers it
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
