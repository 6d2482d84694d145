package engine

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/sluice-hpc/sluice/elastic/engine/observe"

	"github.com/sluice-hpc/sluice/checkpoint"
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

// readings are what is read of jobs' files of progress: those first that were not heard for
// longest, and the jobs in that order.
func readings(all []*jobState, now time.Time) (jobs []*jobState, out []observe.Reading) {
	all = slices.Clone(all)
	slices.SortStableFunc(all, func(a, b *jobState) int { return a.mail.heard.Compare(b.mail.heard) })
	for _, js := range all {
		if now.Before(js.mail.shortened.next) {
			continue
		}
		jobs, out = append(jobs, js), append(out, observe.Reading{Box: js.box(), Offset: js.rec.Offset})
	}
	return jobs, out
}

// heardLines takes in what was read of jobs' files of progress, in the same order. It returns
// those jobs of which there was something new.
func (st *State) heardLines(jobs []*jobState, read []observe.Lines, now time.Time) (changed []*jobState) {
	for i, js := range jobs {
		before := js.rec.Offset
		if read[i].Read {
			st.heardLinesOf(js, read[i], now)
		}
		if js.rec.Offset != before {
			changed = append(changed, js)
		}
	}
	return changed
}

// heardLinesOf takes in one read of a job's lines.
func (st *State) heardLinesOf(js *jobState, r observe.Lines, now time.Time) {
	if !js.mail.answersBy(r.Err) {
		return
	}
	if r.Err != nil {
		js.tells.problem["progress"] = r.Err.Error()
		return
	}
	delete(js.tells.problem, "progress")
	if len(r.Bad) > 0 {
		js.tells.problem["progress lines"] = fmt.Sprintf("%d unreadable progress lines, last: %v", len(r.Bad), r.Bad[len(r.Bad)-1])
		st.Tell(now, js.rec.ID, "problem", r.Bad[len(r.Bad)-1].Error())
	}
	if slices.ContainsFunc(r.Bad, func(err error) bool { return errors.Is(err, checkpoint.ErrShortened) }) {
		js.mail.shortened.times++
		js.mail.shortened.next = now.Add(min(shortMost, shortPause<<min(js.mail.shortened.times-1, 10)))
	}
	if r.Next != js.rec.Offset {
		js.rec.Offset, js.dirty = r.Next, true
	}
	sampled := thinned(r.Lines)
	for i, line := range r.Lines {
		line.Seconds = st.borneOut(js, line, now)
		st.foldProgress(js, line, now, sampled[i])
	}
	js.mail.heard = now
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
