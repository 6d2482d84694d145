package track

import (
	"errors"
	"fmt"
	"time"

	"github.com/sluice-hpc/sluice/elastic/engine/observe"
	"github.com/sluice-hpc/sluice/slurm"
)

// unreadAfter is for how long a read or a write of a job's folder may hang before the job counts as
// Unread: it keeps its size, gets no requests and is not started. Until then its last known
// status is used.
const unreadAfter = 10 * time.Second

// AnswersBy updates whether the job's folder answers, from the result of a read or a write, and
// reports it. An error that is not observe.Unanswered is an answer too: the file system said no. The
// time is that of the call that hangs longest.
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

// unreadSince returns since when the folder has not answered, if the job counts as Unread; else zero.
func (m *mail) unreadSince(now time.Time) time.Time {
	if !m.doubted.IsZero() {
		return m.doubted
	}
	if m.silent.IsZero() || now.Sub(m.silent) < unreadAfter {
		return time.Time{}
	}
	return m.silent
}

// TellUnread logs folders that stopped answering and those that answer again, once each.
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

// lateWord keeps the runner's last status while its folder does not answer, if it is about the
// present run. Once the job is Unread the status is unknown.
func (js *Job) lateWord(now time.Time) {
	js.Mail.runner.ok = js.Mail.runner.ok && current(js.Mail.runner.word, js.Shown.Slurm)
	if !js.Mail.unreadSince(now).IsZero() {
		js.Mail.runner = runnerWord{}
	}
}

// idle reports whether there is nothing to read: the job is pending, never ran and its folder is not
// known to hang.
func (js *Job) idle() bool {
	return js.Shown.Slurm.State == slurm.Pending && js.Rec.FirstRun.IsZero() && js.Mail.silent.IsZero()
}
