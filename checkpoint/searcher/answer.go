package searcher

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/sluice-hpc/sluice/elastic/sweep"
)

// answer is one line of the program.
type answer struct {
	Trial int             `json:"trial"`
	Point json.RawMessage `json:"point"`
	None  bool            `json:"none"` // it has no more points
}

// heard handles a line of the program. A line that is not of the protocol ends the program, since it is not known
// which question its next line would answer. A point that is not of the space is refused with the reason,
// and asked for again.
func (s *Searcher) heard(l line) {
	if len(bytes.TrimSpace(l.text)) == 0 && l.err == nil {
		return
	}
	a, err := parse(l)
	if err == nil && (s.asks.trial == 0 || a.Trial != s.asks.trial) {
		err = fmt.Errorf("line %d: an answer for trial %d, which was not asked for", l.number, a.Trial)
	}
	if err != nil {
		s.failed(err.Error())
		return
	}
	if a.None {
		s.settle(sweep.Spoken{None: true})
		return
	}
	point, err := s.space.Exact(a.Point)
	if err == nil {
		s.settle(sweep.Spoken{Point: &sweep.Pointed{Trial: a.Trial, Point: point.String()}})
		return
	}
	why := fmt.Sprintf("line %d: %v", l.number, err)
	if s.asks.refused++; s.asks.refused >= mostRefused {
		s.failed(fmt.Sprintf("%d answers in a row are no points of the space, the last in %s", mostRefused, why))
		return
	}
	s.status.Why = why
	if err := s.talk.say(event{Event: "refused", Trial: a.Trial, Why: why}); err != nil {
		s.failed(err.Error())
		return
	}
	s.note()
}

// settle records an answer, THEN it counts.
func (s *Searcher) settle(l sweep.Spoken) {
	if err := s.script.add(l); err != nil {
		s.Complain(err)
		s.quit()
		s.failed("its answer could not be recorded: " + err.Error()) // it is asked again
		return
	}
	s.asks, s.status.Failures, s.status.Why = asks{}, 0, ""
	s.ask()
	s.note()
}

// parse reads a line of the program.
func parse(l line) (a answer, err error) {
	if l.err != nil {
		return a, fmt.Errorf("line %d: %w", l.number, l.err)
	}
	d := json.NewDecoder(bytes.NewReader(l.text))
	if err := d.Decode(&a); err != nil {
		var syntax *json.SyntaxError
		var kind *json.UnmarshalTypeError
		at := d.InputOffset() + 1
		if errors.As(err, &syntax) {
			at = syntax.Offset
		} else if errors.As(err, &kind) {
			at = kind.Offset
		}
		return a, fmt.Errorf("line %d, byte %d of its output: %w; want {\"trial\": N, \"point\": {...}}, and nothing else on standard output", l.number, int64(l.at)+at, err)
	}
	if d.More() {
		return a, fmt.Errorf("line %d, byte %d of its output: text after the answer", l.number, int64(l.at)+d.InputOffset()+1)
	}
	if a.None == (a.Point != nil) {
		return a, fmt.Errorf("line %d: want {\"trial\": N, \"point\": {...}}, or {\"trial\": N, \"none\": true}", l.number)
	}
	return a, nil
}
