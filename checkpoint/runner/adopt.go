package runner

import (
	"context"
	"path/filepath"
	"time"

	"github.com/sluice-hpc/sluice/checkpoint"
)

// Adopt says what the runner adopts of a program that is not changed for sluice.
type Adopt struct {
	// Glob matches the files or folders that the program saves, relative to the working
	// directory; %j stands for the job's id. "" = it saves through sluice.
	Glob string
	// Marker is a file in such a folder that exists once the folder is complete; "" = it
	// is complete once it no longer changes.
	Marker string
	// Still is how long nothing in a checkpoint may have changed.
	Still time.Duration
	// Progress finds progress in the job's output; see sbatch.Adopt.
	Progress string
	// Total is the job's length as submitted, in its unit; lines of the output with
	// another total are ignored. 0 = unknown.
	Total float64
}

// adoption is the state of adopting. It belongs to the loop; operations that may block
// run beside the loop and report through done.
type adoption struct {
	habit  *habit // how the program saves; nil = nothing is adopted
	log    *journal
	record record
	seen   sights
	busy   bool
	taking bool // an adoption is running
	done   chan any
	after  time.Time // the next look
	last   time.Time // time of the last adoption, or of the script's start
	newest string    // last checkpoint adopted in this run
	rhythm time.Duration
	ctx    context.Context // of the present start of the script
	stop   context.CancelFunc
}

// lookEvery is how often the program's folder is examined. Each look is a request to a
// shared file system.
const lookEvery = time.Second

// adopt adopts what the program saved and printed since the last look.
func (r *run) adopt() {
	if r.alone || r.child == nil {
		return
	}
	r.follow()
	a := &r.adopted
	if a.habit == nil {
		return
	}
	r.greet()
	select {
	case v := <-a.done:
		a.busy = false
		r.adoptionDid(v)
	default:
	}
	if a.busy || r.Now().Before(a.after) {
		return
	}
	h, known := *a.habit, a.seen.known()
	r.beside(func() any {
		start := r.Now()
		l := h.look(known)
		l.took = r.Now().Sub(start)
		return l
	})
}

// beside runs an operation of adopting beside the loop; at most one at a time.
func (r *run) beside(work func() any) {
	a := &r.adopted
	a.busy = true
	done := a.done
	go func() { done <- work() }() // done has room: the send never blocks
}

// adoptionDid handles the result of such an operation.
func (r *run) adoptionDid(v any) {
	a := &r.adopted
	switch v := v.(type) {
	case looked:
		r.complain("looking for checkpoints like "+a.habit.glob, v.err)
		// Looking may take at most 5 % of the time.
		pause := min(lookEvery, max(a.habit.wait()/4, r.Poll))
		a.after = r.Now().Add(max(20*v.took, pause))
		if r.stops() { // training until the next look would be lost
			a.after = r.Now().Add(min(lookEvery, max(2*v.took, lookSoon)))
		}
		if v.err != nil {
			return
		}
		a.seen.update(v.found, r.Now())
		r.chill()
		if s, ok := a.seen.choose(a.habit, r.Now()); ok && (r.freezing.path == "" || r.freezing.path == s.path) {
			r.take(s)
		}
	case taken:
		r.tookOver(v)
	}
}

// take starts to adopt one checkpoint.
func (r *run) take(s sighting) {
	h, ctx, job := *r.adopted.habit, r.adopted.ctx, r.job
	copied := r.adopted.record.rewrites(s)
	if r.stops() && r.state.phase == checkpoint.Saving {
		r.freeze()
	}
	m := r.describe(s)
	r.adopted.taking = true
	r.beside(func() any { return job.takeOver(ctx, h, s, m, copied) })
}

// describe is the part of an adopted checkpoint's manifest other than its files.
func (r *run) describe(s sighting) checkpoint.Manifest {
	m := checkpoint.Manifest{Restarts: r.job.restarts, Created: s.tree.Newest(), GPUs: r.where.gpus}
	if j := r.adopted.log; j != nil {
		m.Epoch, m.Step = j.last.Epoch, j.last.Step
	}
	if s.number > 0 {
		m.Step = s.number
	}
	return m
}

// tookOver records an adopted checkpoint, or why adopting failed.
func (r *run) tookOver(t taken) {
	a := &r.adopted
	a.taking = false
	if t.err != nil {
		a.seen.again(t.from.path, r.Now())
		r.melt()
		if !gone(t.err) {
			r.complain("adopting "+t.from.path, t.err)
			a.after = r.Now().Add(max(10*lookEvery, a.habit.wait()))
		}
		return
	}
	for _, text := range t.from.tree.Skipped {
		r.say("%s: left out: %s", t.from.path, text)
	}
	a.rhythm = max(a.rhythm, r.Now().Sub(a.last))
	a.last, a.newest = r.Now(), t.name
	a.seen.settle(t.from.path)
	a.record.add(t, a.rhythm)
	a.record.saw(t.from, r.where.gpus)
	r.keepRecord()
	r.say("%s is complete: adopted as checkpoint %s", t.from.path, t.name)
	r.dirty = true
	r.look()
	r.verifyOwnSave()
}

// adoptedLast records an adoption that completed while the script ended: its manifest
// exists before the loop gets the result, and may have answered a request by then.
func (r *run) adoptedLast() {
	a := &r.adopted
	if a.habit == nil || !a.busy {
		return
	}
	select {
	case v := <-a.done:
		if t, ok := v.(taken); ok && t.err == nil {
			a.record.add(t, a.rhythm)
			r.keepRecord()
		}
	case <-time.After(politely):
	}
}

// greet reports that the job's program can be resized, once an adopted checkpoint has
// been verified.
func (r *run) greet() {
	a := &r.adopted
	if a.record.Greeted || a.newest == "" {
		return
	}
	verified := r.watch.proved >= a.newest || (r.state.answer != nil && r.state.answer.Checkpoint >= a.newest)
	if !verified {
		return
	}
	hello := checkpoint.Progress{Event: "hello"}
	if a.log != nil {
		hello = a.log.last
		hello.Event = "hello"
	}
	err := r.job.appendProgress(r.stamp(hello))
	r.complain("reporting progress", err)
	if err == nil {
		a.record.Greeted = true
		r.keepRecord()
	}
}

// rhythm is the longest time between two of the program's own checkpoints, as the runner
// adopted them, in seconds: in this run, or in the last run while this one has none. 0 =
// unknown.
func (r *run) rhythm() float64 {
	if r.adopted.rhythm > 0 {
		return r.adopted.rhythm.Seconds()
	}
	return r.adopted.record.Rhythm
}

// keepRecord stores what was adopted for the next run.
func (r *run) keepRecord() {
	r.complain("writing "+recordFile, r.job.writeRecord(r.adopted.record))
}

// resumeFrom is the path of a checkpoint for the script: the file, if a file was adopted.
func (r *run) resumeFrom(name string) string {
	return filepath.Join(r.job.checkpoints(), name, r.adopted.record.plain(name))
}
