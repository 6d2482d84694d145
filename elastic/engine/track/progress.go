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
	// samplesPerRead bounds the speeds taken from one read of a file: more lines of the same
	// run add no information.
	samplesPerRead = 8
	// keysPerUser bounds, per user and cycle, the models (or jobs without one) whose speeds are
	// stored, since each is a transaction. The rest is stored in later cycles.
	keysPerUser = 16
	// unstoredMost bounds the samples of a job that wait for that; older ones are dropped.
	unstoredMost = 64
)

// A file that became shorter is read again from its start, and after that not before a pause. The
// pause doubles from shortPause to shortMost.
const shortPause, shortMost = time.Minute, time.Hour

// shortened is how often a job's progress file became shorter.
type shortened struct {
	times int
	next  time.Time // it is not read before
}

// Readings returns the reads of progress files that are due, and their jobs, in the same order: the
// file read longest ago comes first. all is not changed. A user with more lines than a cycle reads
// has its files read in turn.
func Readings(all []*Job, now time.Time) (jobs []*Job, out []observe.Reading) {
	all = slices.Clone(all)
	slices.SortStableFunc(all, func(a, b *Job) int { return a.Mail.Heard.Compare(b.Mail.Heard) })
	for _, js := range all {
		if now.Before(js.Mail.shortened.next) {
			continue
		}
		jobs, out = append(jobs, js), append(out, observe.Reading{Box: js.Box(), Owner: js.Rec.Owner.UID, Offset: js.Rec.Offset})
	}
	return jobs, out
}

// HeardLines applies what was read of the jobs' progress files. read has one entry for each of
// jobs, in that order. It returns the jobs with new lines.
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

// heardLinesOf applies one read of a job's progress file. The offset and Done are in one record,
// so that a crash loses no line.
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
		line.Seconds = st.Open.borneOut(js, line, func() float64 {
			if place, known := js.placeOf(line); known {
				return curveSeconds(js.Learnt.levelled.own(st.Learnt.Fit(st.KeysOf(js.Rec), now)), st.sample(js, place, line.Seconds, now))
			}
			return 0
		}, now)
		st.foldProgress(js, line, now, sampled[i])
	}
	js.Mail.Heard = now
}

// thinned selects the lines whose speeds are kept: at most samplesPerRead of each event, evenly
// spaced, the last one included. For example, of 20 lines of one event every third is kept, counted
// from the last: 7.
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
