package fake

import (
	"bufio"
	"bytes"
	"strconv"
	"strings"
	"time"
)

// Script is the Program of a plain job: it sleeps, then exits.
type Script struct {
	Sleep   time.Duration
	Forever bool // never ends by itself
	Code    int  // exit code
	Suicide int  // signal it kills itself with, 0 = none
	// Traps gives the exit code for each signal that ends the script early; other
	// signals are ignored.
	Traps map[string]int
	// Lingers is how long its processes take to end once Slurm stops it.
	Lingers time.Duration
}

// ParseScript understands a few lines of sh; every other line takes no time:
//
//	sleep N                  in seconds, "infinity", or with a suffix s, m, h, d
//	exit N
//	kill -N $$
//	trap 'exit N' SIG        exit when sent SIG
//	trap 'sleep N' TERM      take that long to end
//
// A trailing "& wait" and a leading "exec" have no effect.
func ParseScript(text []byte) *Script {
	s := &Script{Traps: map[string]int{}}
	lines := bufio.NewScanner(bytes.NewReader(text))
	for lines.Scan() {
		if s.line(strings.TrimSpace(lines.Text())) {
			break
		}
	}
	return s
}

// line takes one line and reports whether the script ends there.
func (s *Script) line(line string) bool {
	if rest, ok := strings.CutPrefix(line, "trap '"); ok {
		command, signals, _ := strings.Cut(rest, "'")
		s.trap(command, strings.Fields(signals))
		return false
	}
	line, _, _ = strings.Cut(line, "&")
	words := strings.Fields(strings.TrimPrefix(line, "exec "))
	switch {
	case len(words) == 2 && words[0] == "sleep":
		d, ok := sleepTime(words[1])
		s.Forever = s.Forever || !ok
		s.Sleep += d
	case len(words) == 2 && words[0] == "exit":
		s.Code, _ = strconv.Atoi(words[1])
		return true
	case len(words) == 3 && words[0] == "kill" && words[2] == "$$":
		s.Suicide, _ = strconv.Atoi(strings.TrimPrefix(words[1], "-"))
		return true
	}
	return false
}

func (s *Script) trap(command string, signals []string) {
	for _, signal := range signals {
		for _, part := range strings.Split(command, ";") {
			words := strings.Fields(part)
			switch {
			case len(words) == 2 && words[0] == "exit" && signal != "TERM":
				s.Traps[signal], _ = strconv.Atoi(words[1])
			case len(words) == 2 && words[0] == "sleep" && signal == "TERM":
				s.Lingers, _ = sleepTime(words[1])
			}
		}
	}
}

func sleepTime(word string) (time.Duration, bool) {
	unit := time.Second
	if n := len(word) - 1; n > 0 {
		if u, ok := map[byte]time.Duration{'s': time.Second, 'm': time.Minute, 'h': time.Hour, 'd': 24 * time.Hour}[word[n]]; ok {
			unit, word = u, word[:n]
		}
	}
	v, err := strconv.ParseFloat(word, 64)
	if err != nil || v > 1e6 || v < 0 || v != v {
		return 0, false
	}
	return time.Duration(v * float64(unit)), true
}

// Start sleeps, then exits.
func (s *Script) Start(r *Run) {
	if !s.Forever {
		r.After(s.Sleep, func() { r.Exit(s.Code, s.Suicide) })
	}
}

// Signal ends the script if it traps the signal with exit.
func (s *Script) Signal(r *Run, signal string, _ bool) {
	if code, ok := s.Traps[signal]; ok {
		r.After(time.Millisecond, func() { r.Exit(code, 0) })
	}
}

// Stop does nothing: the processes of a plain script end at once.
func (s *Script) Stop(*Run, Cause) {}

// Linger is how long the script's processes outlive Stop.
func (s *Script) Linger() time.Duration { return s.Lingers }
