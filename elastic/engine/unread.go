package engine

import (
	"errors"
	"fmt"
	"time"

	"github.com/sluice-hpc/sluice/slurm"
)

// Unanswered is what a Mailbox returns while a read or a write of the job's folder is under
// way that has not returned: the file system hangs, or is slow. A write may still be
// carried out.
type Unanswered struct {
	Since time.Time // when the oldest of them was asked for
}

func (u *Unanswered) Error() string {
	return "its folder has not answered since " + u.Since.Format(time.TimeOnly)
}

// unreadAfter is for how long a folder may leave a read or a write unanswered before its job
// counts as Unread: it keeps its size, is asked nothing and is not started. Until then it is
// as it was last seen.
const unreadAfter = 10 * time.Second

// answersBy notes whether the job's folder answers, from what a read or a write of it came to,
// and reports whether it did.
func (js *jobState) answersBy(err error) bool {
	if err == nil {
		js.silent = time.Time{}
		return true
	}
	var u *Unanswered
	if !errors.As(err, &u) {
		js.silent = time.Time{}
		return true
	}
	if js.silent.IsZero() || u.Since.Before(js.silent) {
		js.silent = u.Since
	}
	return false
}

// unreadSince is since when the job counts as Unread; zero = it does not.
func (js *jobState) unreadSince(now time.Time) time.Time {
	if js.silent.IsZero() || now.Sub(js.silent) < unreadAfter {
		return time.Time{}
	}
	return js.silent
}

// tellUnread tells of folders that stopped to answer, and of those that answer again, once
// each.
func (e *Engine) tellUnread(now time.Time) {
	for _, js := range e.ordered() {
		since := time.Time{}
		if js.rec.Ended.IsZero() && !js.disown {
			since = js.unreadSince(now)
		}
		switch was := js.unread; {
		case !since.IsZero():
			js.problem["folder"] = fmt.Sprintf("its folder has not answered since %s; perhaps its file system hangs. It keeps its size, is asked nothing and is not started until it answers",
				since.Format("2006-01-02T15:04:05"))
			if was.IsZero() {
				e.event(now, js.rec.ID, "problem", js.problem["folder"])
			}
		case !was.IsZero():
			delete(js.problem, "folder")
			if js.rec.Ended.IsZero() {
				e.event(now, js.rec.ID, "problem", fmt.Sprintf("its folder answers again after %s", now.Sub(was).Round(time.Second)))
			}
		}
		js.unread = since
	}
}

// lateWord keeps what the runner said last, as far as it is about the present run, while its
// folder is late; beyond that nobody knows what the runner does.
func (js *jobState) lateWord(now time.Time) {
	js.runner.ok = js.runner.ok && current(js.runner.word, js.slurm)
	if !js.unreadSince(now).IsZero() {
		js.runner = runnerWord{}
	}
}

// idle reports whether there is nothing to read of the job: it waits and never ran. One whose
// folder was late is asked until it answers.
func (js *jobState) idle() bool {
	return js.slurm.State == slurm.Pending && js.rec.FirstRun.IsZero() && js.silent.IsZero()
}
