package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/sluice-hpc/sluice/checkpoint"
	"github.com/sluice-hpc/sluice/elastic/learn/speed"
)

// What one user's files of progress cost others at most, a cycle.
const (
	// linesPerUser and bytesPerUser end the reading of a user's files: the file that passes
	// them is the last. What is left waits for its turn; who was not heard for longest is next.
	linesPerUser, bytesPerUser = 2000, 256 << 10
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

// readerBudget is what was read in this cycle, by user.
type readerBudget map[uint32]struct{ lines, bytes int64 }

func (b readerBudget) spent(uid uint32) bool {
	return b[uid].lines >= linesPerUser || b[uid].bytes >= bytesPerUser
}

// readProgressOf reads the new lines of jobs, within what each user may cost: those first that
// were not heard for longest. It returns those of which there was something new.
func (e *Engine) readProgressOf(all []*jobState, now time.Time) (changed []*jobState) {
	all = slices.Clone(all)
	slices.SortStableFunc(all, func(a, b *jobState) int { return a.mail.heard.Compare(b.mail.heard) })
	budget := readerBudget{}
	for _, js := range all {
		uid := js.rec.UID
		if budget.spent(uid) || now.Before(js.mail.shortened.next) {
			continue
		}
		before := js.rec.Offset
		lines := e.readProgress(js, now)
		b := budget[uid]
		b.lines += int64(lines)
		b.bytes += max(0, js.rec.Offset-before)
		if js.rec.Offset < before {
			b.bytes += js.rec.Offset
		}
		budget[uid] = b
		if js.rec.Offset != before {
			changed = append(changed, js)
		}
	}
	return changed
}

// readProgress takes in one read of a job's lines and returns how many there were.
func (e *Engine) readProgress(js *jobState, now time.Time) int {
	lines, next, bad, err := e.cfg.Mailbox.Progress(js.rec.Token, js.rec.UID, js.rec.Offset)
	if !js.mail.answersBy(err) {
		return 0
	}
	if err != nil {
		js.tells.problem["progress"] = err.Error()
		return 0
	}
	delete(js.tells.problem, "progress")
	if len(bad) > 0 {
		js.tells.problem["progress lines"] = fmt.Sprintf("%d unreadable progress lines, last: %v", len(bad), bad[len(bad)-1])
		e.event(now, js.rec.ID, "problem", bad[len(bad)-1].Error())
	}
	if slices.ContainsFunc(bad, func(err error) bool { return errors.Is(err, checkpoint.ErrShortened) }) {
		js.mail.shortened.times++
		js.mail.shortened.next = now.Add(min(shortMost, shortPause<<min(js.mail.shortened.times-1, 10)))
	}
	if next != js.rec.Offset {
		js.rec.Offset, js.dirty = next, true
	}
	sampled := thinned(lines)
	for i, line := range lines {
		line.Seconds = e.borneOut(js, line, now)
		e.foldProgress(js, line, now, sampled[i])
	}
	js.mail.heard = now
	return len(lines) + len(bad)
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

// keepSpeeds stores what was learnt since, a transaction for each model: of every user those
// that have waited for longest.
func (e *Engine) keepSpeeds(ctx context.Context) error {
	e.stores++
	all := slices.DeleteFunc(slices.Clone(e.ordered()), func(js *jobState) bool { return len(js.learnt.fresh)+len(js.learnt.paces) == 0 })
	slices.SortStableFunc(all, func(a, b *jobState) int { return cmp.Compare(a.learnt.stored, b.learnt.stored) })
	type store struct {
		key  string
		from []*[]speed.Sample
		jobs []*jobState
	}
	var stores []*store
	at, keys := map[string]*store{}, map[uint32]int{}
	add := func(js *jobState, key string, of *[]speed.Sample) {
		if len(*of) == 0 {
			return
		}
		s := at[key]
		if s == nil {
			if keys[js.rec.UID] >= keysPerUser {
				*of = slices.Clone((*of)[max(0, len(*of)-unstoredMost):])
				return
			}
			keys[js.rec.UID]++
			s = &store{key: key}
			at[key], stores = s, append(stores, s)
		}
		s.from, s.jobs = append(s.from, of), append(s.jobs, js)
	}
	for _, js := range all {
		add(js, e.modelOf(js.rec), &js.learnt.fresh)
		add(js, e.paceOf(js.rec), &js.learnt.paces)
	}
	for _, s := range stores {
		var samples []speed.Sample
		for _, of := range s.from {
			samples = append(samples, *of...)
		}
		if err := e.cfg.Samples.AddSamples(ctx, s.key, samples); err != nil {
			return fmt.Errorf("keeping speeds: %w", err)
		}
		for i, of := range s.from {
			*of, s.jobs[i].learnt.stored = nil, e.stores
		}
	}
	return nil
}
