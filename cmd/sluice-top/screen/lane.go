package screen

import (
	"fmt"
	"strings"
	"time"

	"github.com/sluice-hpc/sluice/elastic/control/wire"
)

// stretch is a time during which a job has, had or will have one size.
type stretch struct {
	from, to time.Time
	gpus     int // 0 = it waits
	moves    bool
	expected bool // not seen yet
}

// marks are the characters of lanes.
type marks struct{ past, expected, waits, moves, now rune }

var (
	fineMarks  = marks{past: '━', expected: '╌', waits: '·', moves: '~', now: '│'}
	plainMarks = marks{past: '=', expected: '-', waits: '.', moves: '~', now: '|'}
)

// lane draws stretches on width columns from a time on, each column that much time: where a size
// begins its number, where there is room for it.
func lane(all []stretch, from time.Time, column time.Duration, width int, now time.Time, m marks) string {
	cells := []rune(strings.Repeat(" ", max(width, 0)))
	present := int(now.Sub(from) / max(column, 1))
	last := -1
	for c := 0; c < len(cells); c++ {
		if c == present {
			continue // a number that would begin here begins beside the mark
		}
		at := from.Add(time.Duration(c)*column + column/2)
		k := stretchAt(all, at)
		if k < 0 {
			last = -1
			continue
		}
		s := all[k]
		cells[c] = m.of(s)
		if k != last && s.gpus > 0 && !s.moves && (last < 0 || all[last].gpus != s.gpus) {
			number := []rune(fmt.Sprint(s.gpus))
			end := c
			for end < len(cells) && end != present && end-c < len(number) && stretchAt(all, from.Add(time.Duration(end)*column+column/2)) == k {
				end++
			}
			if end-c == len(number) {
				copy(cells[c:], number)
				c = end - 1
			}
		}
		last = k
	}
	if present >= 0 && present < len(cells) {
		cells[present] = m.now
	}
	return strings.TrimRight(string(cells), " ")
}

func (m marks) of(s stretch) rune {
	switch {
	case s.moves:
		return m.moves
	case s.gpus == 0:
		return m.waits
	case s.expected:
		return m.expected
	}
	return m.past
}

func stretchAt(all []stretch, at time.Time) int {
	for k := len(all) - 1; k >= 0; k-- { // the newest knows best
		if !at.Before(all[k].from) && at.Before(all[k].to) {
			return k
		}
	}
	return -1
}

// stretches are the sizes of a job: its runs, what it has now, and what is expected. past and
// expected may be nil.
func stretches(j *wire.Job, past *wire.PastJob, expected *wire.Expected, now, until time.Time) []stretch {
	var all []stretch
	end := now
	if j.Ended && !j.EndedAt.IsZero() {
		end = j.EndedAt
	}
	if !j.Submitted.IsZero() {
		all = append(all, stretch{from: j.Submitted, to: end})
	}
	known := false // the present run is in the history
	if past != nil {
		for i, run := range past.Runs {
			to := run.Ended
			if to.IsZero() {
				to, known = end, true
			}
			all = append(all, stretch{from: run.Started, to: to, gpus: run.GPUs})
			if i+1 < len(past.Runs) && past.Runs[i+1].Started.After(to) {
				all = append(all, stretch{from: to, to: past.Runs[i+1].Started, moves: true})
			}
		}
	}
	if !known && !j.Ended && j.GPUs > 0 && !j.Started.IsZero() {
		all = append(all, stretch{from: j.Started, to: end, gpus: j.GPUs})
	}
	if j.Move != nil && !j.Move.Since.IsZero() {
		all = append(all, stretch{from: j.Move.Since, to: now, moves: true})
	}
	switch {
	case j.Ended:
	case expected != nil && len(expected.Sizes) > 0:
		for _, s := range expected.Sizes {
			to := s.To
			if to.IsZero() {
				to = until
			}
			all = append(all, stretch{from: later(s.From, now), to: to, gpus: s.GPUs, moves: s.Moves, expected: true})
		}
	case j.GPUs > 0 && j.ETA.After(now):
		all = append(all, stretch{from: now, to: j.ETA, gpus: j.GPUs, expected: true})
	}
	return all
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// axis is the line of times above lanes: at its ends, and now, each in this machine's zone as it is at that
// time; a report has its daemon's.
func axis(from time.Time, column time.Duration, width int, now time.Time) string {
	from, now = from.Local(), now.Local()
	cells := []rune(strings.Repeat(" ", max(width, 0)))
	layout := "15:04"
	if time.Duration(width)*column > 24*time.Hour {
		layout = "Jan 2"
	}
	put := func(c int, text string) {
		if c >= 0 && c+len(text) <= len(cells) && strings.TrimSpace(string(cells[max(c-1, 0):min(c+len(text)+1, len(cells))])) == "" {
			copy(cells[c:], []rune(text))
		}
	}
	put(int(now.Sub(from)/max(column, 1)), now.Format("15:04"))
	put(0, from.Format(layout))
	end := from.Add(time.Duration(width) * column).Format(layout)
	put(len(cells)-len(end), end)
	return strings.TrimRight(string(cells), " ")
}
