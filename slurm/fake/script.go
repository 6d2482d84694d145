package fake

import (
	"bufio"
	"bytes"
	"strconv"
	"strings"
	"time"
)

// Script is the Program of a plain job: it sleeps, then exits. Signals are
// ignored.
type Script struct {
	Sleep    time.Duration
	Code     int
	Forever  bool // never exits by itself
	Signals  []string
	OnSignal func(r *Run, signal string) // nil = only recorded
}

// ParseScript understands "sleep N" (seconds, "infinity", or with a suffix s, m,
// h, d), "exec sleep N" and "exit N"; every other line takes no time.
func ParseScript(text []byte) *Script {
	s := &Script{}
	lines := bufio.NewScanner(bytes.NewReader(text))
	for lines.Scan() {
		words := strings.Fields(strings.TrimSuffix(strings.TrimSpace(lines.Text()), "&"))
		if len(words) > 0 && words[0] == "exec" {
			words = words[1:]
		}
		if len(words) != 2 {
			continue
		}
		switch words[0] {
		case "sleep":
			d, ok := sleepTime(words[1])
			s.Forever = s.Forever || !ok
			s.Sleep += d
		case "exit":
			s.Code, _ = strconv.Atoi(words[1])
			return s
		}
	}
	return s
}

func sleepTime(word string) (time.Duration, bool) {
	unit := time.Second
	if n := len(word) - 1; n > 0 {
		if u, ok := map[byte]time.Duration{'s': time.Second, 'm': time.Minute, 'h': time.Hour, 'd': 24 * time.Hour}[word[n]]; ok {
			unit, word = u, word[:n]
		}
	}
	v, err := strconv.ParseFloat(word, 64)
	if err != nil || v > 1e9 || v != v {
		return 0, false
	}
	return time.Duration(v * float64(unit)), true
}

// Start sleeps, then exits.
func (s *Script) Start(r *Run) {
	if !s.Forever {
		r.After(s.Sleep, func() { r.Exit(s.Code, 0) })
	}
}

// Signal records the signal.
func (s *Script) Signal(r *Run, signal string, _ bool) {
	s.Signals = append(s.Signals, signal)
	if s.OnSignal != nil {
		s.OnSignal(r, signal)
	}
}

// Stop does nothing: a plain script is simply gone.
func (s *Script) Stop(*Run, Cause) {}
