package runner

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"time"

	"github.com/sluice-hpc/sluice/checkpoint"
)

// readying prepares a program's own checkpoints before it starts: the last save that the
// previous runner could not adopt is adopted, and the checkpoint from which the job
// resumes is made the newest one in the program's folder, for a program that looks for it
// itself. It runs beside the loop.
type readying struct {
	job      folders
	habit    *habit // nil = nothing to do
	manifest checkpoint.Manifest
	say      func(string, ...any)

	record record
	first  bool       // no checkpoint of this job exists yet
	found  []sighting // what exists at the end
	broken []sighting // newer than the last complete one, and incomplete
}

func (r *run) readying() *readying {
	y := &readying{job: r.job, habit: newHabit(r.Adopt, r.job.id.Job), say: r.say}
	y.manifest = checkpoint.Manifest{Restarts: r.job.restarts, GPUs: r.where.gpus}
	return y
}

// adopt adopts the newest checkpoint that is complete and not adopted yet.
func (y *readying) adopt(ctx context.Context) {
	if y.habit == nil {
		return
	}
	l := y.habit.look(nil)
	if l.err != nil {
		y.say("checkpoints like %s cannot be looked for: %v", y.habit.glob, l.err)
	}
	y.found = l.found
	known, err := y.job.readRecord()
	if err != nil {
		y.say("%s cannot be read: %v; all that is there now counts as from before the job", recordFile, err)
	}
	if known == nil {
		y.begin()
		return
	}
	y.record = *known
	var whole []sighting
	whole, y.broken = y.record.unadopted(y.found, y.habit.marker != "")
	if len(whole) == 0 {
		return
	}
	newest := whole[0]
	m := y.manifest
	m.Created, m.Step = newest.tree.Newest(), max(0, newest.number)
	t := y.job.takeOver(ctx, *y.habit, newest, m, y.record.rewrites(newest))
	if t.err != nil {
		y.say("%s, saved by the last run, cannot be adopted: %v; it is left where it is", newest.path, t.err)
		return
	}
	y.say("%s, saved by the last run, is complete: adopted as checkpoint %s", newest.path, t.name)
	y.record.add(t, time.Duration(y.record.Rhythm*float64(time.Second)))
	y.keep()
}

// begin records what existed before the job.
func (y *readying) begin() {
	y.first = true
	y.record = record{Before: map[string]string{}}
	for _, s := range y.found {
		y.record.Before[s.path] = s.print
	}
	if len(y.found) > 0 {
		y.say("%d checkpoints like %s were there before the job, the newest %s: they are not adopted", len(y.found), y.habit.glob, y.found[0].path)
	}
	y.keep()
}

func (y *readying) keep() {
	if err := y.job.writeRecord(y.record); err != nil {
		y.say("writing %s: %v", recordFile, err)
	}
}

// unadopted returns what this job's earlier runs saved after their last adopted
// checkpoint: the complete ones and the others, newest first. Without a marker, a
// checkpoint is known to be complete if a newer one exists: the files of an ended run do
// not show whether they were still changing.
func (r record) unadopted(found []sighting, marker bool) (whole, broken []sighting) {
	var last *origins
	if n := len(r.Adopted); n > 0 {
		last = &r.Adopted[n-1]
	}
	var all []sighting
	for _, s := range found {
		if !r.known(s) && (last == nil || newer(s.number, s.tree.Newest(), last.Number, last.Newest)) {
			all = append(all, s)
		}
	}
	slices.SortFunc(all, func(a, b sighting) int {
		if a.newer(b) {
			return -1
		}
		return 1
	})
	for i, s := range all {
		complete := len(s.tree.Entries) > 0 && (s.marked || (!marker && i > 0))
		if complete {
			whole = append(whole, s)
		} else {
			broken = append(broken, s)
		}
	}
	return whole, broken
}

// order makes the program's own folder agree with the checkpoint from which the job
// resumes: newer ones that are incomplete, or whose adopted copy is damaged, are set
// aside, and the checkpoint itself is put back if it is missing.
func (y *readying) order(ctx context.Context, c checkpoint.Checkpoint) {
	if y.habit == nil || y.first {
		return
	}
	base, err := checkpoint.OpenDir(y.habit.base)
	if errors.Is(err, fs.ErrNotExist) {
		return
	}
	if err == nil {
		defer base.Close()
		err = y.orderIn(ctx, base, c)
	}
	if err != nil {
		y.say("the program's own checkpoints like %s cannot be put in order: %v", y.habit.glob, err)
	}
	y.found = y.habit.look(nil).found
}

func (y *readying) orderIn(ctx context.Context, base *checkpoint.Dir, c checkpoint.Checkpoint) error {
	var failed error
	origin, adopted := y.record.of(c.Name)
	for _, s := range y.found {
		if slices.ContainsFunc(y.broken, func(b sighting) bool { return b.path == s.path }) {
			failed = errors.Join(failed, y.setAside(base, s.path, "it was not complete when its run ended"))
		} else if twin, ok := y.twin(s); ok && twin.Checkpoint > c.Name {
			failed = errors.Join(failed, y.setAside(base, s.path, "checkpoint "+twin.Checkpoint+", made of it, does not verify"))
		}
	}
	if adopted {
		failed = errors.Join(failed, y.putBack(ctx, base, c, origin))
	}
	return failed
}

// twin is the adopted checkpoint that was made from s.
func (y *readying) twin(s sighting) (origins, bool) {
	for _, o := range slices.Backward(y.record.Adopted) {
		if o.Path == s.path && o.Print == s.print {
			return o, true
		}
	}
	return origins{}, false
}

// asideTries bounds the names tried when a checkpoint is set aside.
const asideTries = 100

// setAside renames; no file of the user is ever removed.
func (y *readying) setAside(base *checkpoint.Dir, p, why string) error {
	dir, name, err := base.Reach(p)
	if err != nil {
		return err
	}
	defer dir.Close()
	to := name + damaged
	for n := 2; n < asideTries; n++ {
		if _, err := dir.Lstat(to); errors.Is(err, fs.ErrNotExist) {
			break
		}
		to = fmt.Sprintf("%s.%d%s", name, n, damaged)
	}
	if err := dir.Rename(name, to); err != nil {
		return err
	}
	y.say("%s is set aside as %s: %s", p, to, why)
	return dir.Sync()
}

// putBack makes sure that the program finds the checkpoint under its own name.
func (y *readying) putBack(ctx context.Context, base *checkpoint.Dir, c checkpoint.Checkpoint, o origins) error {
	dir, name, err := base.Reach(o.Path)
	if err != nil {
		return err
	}
	defer dir.Close()
	return y.job.series(func(s *checkpoint.Series) error {
		same, err := s.Same(ctx, c, dir, name)
		if same || err != nil {
			return err
		}
		if _, err := dir.Lstat(name); err == nil {
			if err := y.setAside(base, o.Path, "it is no longer what was adopted as checkpoint "+c.Name); err != nil {
				return err
			}
		}
		err = s.PutBack(ctx, c, dir, name, o.Plain, o.Copied)
		if err == nil {
			y.say("%s was gone or changed: put back from checkpoint %s", o.Path, c.Name)
		}
		return err
	})
}

// begin starts adopting for one start of the script.
func (a *adoption) begin(y *readying, now time.Time) {
	if a.stop != nil {
		a.stop()
	}
	a.ctx, a.stop = context.WithCancel(context.Background())
	a.taking = false
	a.habit, a.record, a.seen = y.habit, y.record, sights{}
	a.done, a.busy = make(chan any, 1), false
	a.after, a.last = now, now
	a.seen.seed(y.found, now)
}
