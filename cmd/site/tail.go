package site

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
)

// Tail returns the last lines of sluiced's log in readable form.
func (s *Site) Tail(n int) string {
	b, _ := os.ReadFile(s.Log)
	lines := strings.Split(strings.TrimSpace(string(b)), "\n")
	lines = lines[max(0, len(lines)-n):]
	for i, l := range lines {
		lines[i] = readable(l)
	}
	return strings.Join(lines, "\n")
}

// readable shortens a line of a JSON log; other lines are not changed.
func readable(line string) string {
	var e struct {
		Time, Level, Event, Message, Error string
		Job                                int64
	}
	if json.Unmarshal([]byte(line), &e) != nil || e.Time == "" {
		return line
	}
	text := e.Time + " " + e.Level
	if e.Event != "" {
		text += " " + e.Event
	}
	if e.Job != 0 {
		text += fmt.Sprintf(" job %d", e.Job)
	}
	text += ": " + e.Message
	if e.Error != "" {
		text += ": " + e.Error
	}
	return text
}
