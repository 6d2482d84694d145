package track

import (
	"errors"
	"fmt"
	"time"

	"github.com/sluice-hpc/sluice/elastic/engine/observe"
	"github.com/sluice-hpc/sluice/slurm"
)

// unreadAfter is for how long a folder may leave a read or a write unanswered before its job
// counts as Unread: it keeps its size, is asked nothing and is not started. Until then it is
// as it was last seen.
const unreadAfter = 10 * time.Second

// AnswersBy notes whether the job's folder answers, from what a read or a write of it came to,
// and reports whether it did.
func (m *mail) AnswersBy(err error) bool {
	if err == nil {
		m.silent = time.Time{}
		return true
	}
	var u *observe.Unanswered
	if !errors.As(err, &u) {
		m.silent = time.Time{}
		return true
	}
	if m.silent.IsZero() || u.Since.Before(m.silent) {
		m.silent = u.Since
	}
	return false
}

// unreadSince is since when the job counts as Unread; zero = it does not.
func (m *mail) unreadSince(now time.Time) time.Time {
	if m.silent.IsZero() || now.Sub(m.silent) < unreadAfter {
		return time.Time{}
	}
	return m.silent
}

// TellUnread tells of folders that stopped to answer, and of those that answer again, once
// each.
func (st *State) TellUnread(now time.Time) {
	for _, js := range st.Ordered() {
		since := time.Time{}
		if js.Rec.Ended.IsZero() && !js.Shown.Disown {
			since = js.Mail.unreadSince(now)
		}
		switch was := js.Mail.unread; {
		case !since.IsZero():
			js.Tells.Problem["folder"] = fmt.Sprintf("its folder has not answered since %s; perhaps its file system hangs. It keeps its size, is asked nothing and is not started until it answers",
				since.Format("2006-01-02T15:04:05"))
			if was.IsZero() {
				st.Tell(now, js.Rec.ID, "problem", js.Tells.Problem["folder"])
			}
		case !was.IsZero():
			delete(js.Tells.Problem, "folder")
			if js.Rec.Ended.IsZero() {
				st.Tell(now, js.Rec.ID, "problem", fmt.Sprintf("its folder answers again after %s", now.Sub(was).Round(time.Second)))
			}
		}
		js.Mail.unread = since
	}
}

// lateWord keeps what the runner said last, as far as it is about the present run, while its
// folder is late; beyond that it is unknown what the runner does.
func (js *Job) lateWord(now time.Time) {
	js.Mail.runner.ok = js.Mail.runner.ok && current(js.Mail.runner.word, js.Shown.Slurm)
	if !js.Mail.unreadSince(now).IsZero() {
		js.Mail.runner = runnerWord{}
	}
}

// idle reports whether there is nothing to read of the job: it waits and never ran. One whose
// folder was late is asked until it answers.
func (js *Job) idle() bool {
	return js.Shown.Slurm.State == slurm.Pending && js.Rec.FirstRun.IsZero() && js.Mail.silent.IsZero()
}
