package audit

import (
	"io"
	"regexp"
	"strings"
	"sync"
	"time"
)

// Completion is one line of the job completion log (jobcomp/filetxt): the end of
// one run, or of a job that never ran.
type Completion struct {
	Line
	Job        int64
	UID        int64
	State      string // PENDING of a run that was requeued
	Start, End time.Time
	Nodes      []string
}

// Final reports whether the job was over then, unless somebody requeued it.
func (c Completion) Final() bool { return c.State != "PENDING" && c.State != "REQUEUED" }

var completionForm = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^JobId=(\d+) UserId=[^()]*\((\d+)\) .* JobState=([A-Z_]+) Partition=\S* TimeLimit=\S+ ` +
		`StartTime=(\S+) EndTime=(\S+) NodeList=(\S+) `)
})

// ParseCompletions reads the job completion log. Its times are whole seconds in
// loc. Lines that cannot be read come back apart. The error is that of the reader.
func ParseCompletions(r io.Reader, file string, loc *time.Location) (out []Completion, other []Line, err error) {
	err = eachLine(r, file, func(l Line) {
		if c, ok := parseCompletion(l, loc); ok {
			out = append(out, c)
		} else if strings.TrimSpace(l.Text) != "" {
			other = append(other, l)
		}
	})
	return out, other, err
}

func parseCompletion(l Line, loc *time.Location) (Completion, bool) {
	m := completionForm().FindStringSubmatch(l.Text)
	if m == nil {
		return Completion{}, false
	}
	c := Completion{Line: l, Job: job(m[1]), UID: job(m[2]), State: m[3]}
	var err error
	if c.Nodes, err = expand(m[6]); err != nil {
		return Completion{}, false
	}
	end, ok := parseStamp(m[5], loc)
	if !ok {
		return Completion{}, false
	}
	c.Start, _ = parseStamp(m[4], loc) // "Unknown" of a job that never ran
	c.End, c.At, c.Grain = end, end, time.Second
	return c, true
}
