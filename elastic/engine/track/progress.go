package track

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/sluice-hpc/sluice/checkpoint"
	"github.com/sluice-hpc/sluice/elastic/engine/observe"
)

const (
	// samplesPerRead is how many speeds are taken from what was read of one file: more lines
	// tell no more about the same run.
	samplesPerRead = 8
	// keysPerUser is for how many models, or jobs without one, speeds are stored; each is a
	// transaction. What is left is stored in a later cycle.
	keysPerUser = 16
	// unstoredMost is how many samples of a job wait for that; older ones are dropped.
	unstoredMost = 64
)

// A file that was made shorter is read from its start, as one that was replaced; the next time
// no sooner than after a pause, which doubles.
const shortPause, shortMost = time.Minute, time.Hour

// shortened is how often a job's file of progress was made shorter.
type shortened struct {
	times int
	next  time.Time // it is not read before
}

// Readings are what is read of jobs' files of progress: those first that were not heard for
// longest, and the jobs in that order.
func Readings(all []*Job, now time.Time) (jobs []*Job, out []observe.Reading) {
	all = slices.Clone(all)
	slices.SortStableFunc(all, func(a, b *Job) int { return a.Mail.Heard.Compare(b.Mail.Heard) })
	for _, js := range all {
		if now.Before(js.Mail.shortened.next) {
			continue
		}
		jobs, out = append(jobs, js), append(out, observe.Reading{Box: js.Box(), Offset: js.Rec.Offset})
	}
	return jobs, out
}

// HeardLines takes in what was read of jobs' files of progress, in the same order. It returns
// those jobs of which there was something new.
func (st *State) HeardLines(jobs []*Job, read []observe.Lines, now time.Time) (changed []*Job) {
	for i, js := range jobs {
		before := js.Rec.Offset
		if read[i].Read {
			st.heardLinesOf(js, read[i], now)
		}
		if js.Rec.Offset != before {
			changed = append(changed, js)
		}
	}
	return changed
}

// heardLinesOf takes in one read of a job's lines.
func (st *State) heardLinesOf(js *Job, r observe.Lines, now time.Time) {
	if !js.Mail.AnswersBy(r.Err) {
		return
	}
	if r.Err != nil {
		js.Tells.Problem["progress"] = r.Err.Error()
		return
	}
	delete(js.Tells.Problem, "progress")
	if len(r.Bad) > 0 {
		js.Tells.Problem["progress lines"] = fmt.Sprintf("%d unreadable progress lines, last: %v", len(r.Bad), r.Bad[len(r.Bad)-1])
		st.Tell(now, js.Rec.ID, "problem", r.Bad[len(r.Bad)-1].Error())
	}
	if slices.ContainsFunc(r.Bad, func(err error) bool { return errors.Is(err, checkpoint.ErrShortened) }) {
		js.Mail.shortened.times++
		js.Mail.shortened.next = now.Add(min(shortMost, shortPause<<min(js.Mail.shortened.times-1, 10)))
	}
	if r.Next != js.Rec.Offset {
		js.Rec.Offset, js.Dirty = r.Next, true
	}
	sampled := thinned(r.Lines)
	for i, line := range r.Lines {
		line.Seconds = st.borneOut(js, line, now)
		st.foldProgress(js, line, now, sampled[i])
	}
	js.Mail.Heard = now
}

// thinned picks the lines whose speeds are kept: of each event at most samplesPerRead, evenly,
// and the last.
func thinned(lines []checkpoint.Progress) []bool {
	left := map[string]int{}
	for _, line := range lines {
		left[line.Event]++
	}
	stride := map[string]int{}
	for event, n := range left {
		stride[event] = (n + samplesPerRead - 1) / samplesPerRead
	}
	out := make([]bool, len(lines))
	for i, line := range lines {
		left[line.Event]--
		out[i] = left[line.Event]%stride[line.Event] == 0
	}
	return out
}
