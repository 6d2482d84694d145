package audit

import (
	"io"
	"regexp"
	"strings"
	"sync"
	"time"
)

// Completion is one reading of a record of the job completion log (jobcomp/filetxt): the
// end of one run, or of a job that never ran.
type Completion struct {
	Line
	Job        int64
	UID        int64
	State      string // PENDING of a run that was requeued
	Start, End time.Time
	Nodes      []string
	// Doubtful: there are other ways to read it. Names and folders stand there as they
	// are, with their line breaks: so a record may look like several, hold its fields more
	// than once, or be somebody's name. The readings of one record have the place of its
	// first line.
	Doubtful bool
}

// Final reports whether the job was over then, unless somebody requeued it.
func (c Completion) Final() bool { return c.State != "PENDING" && c.State != "REQUEUED" }

var (
	// Up to the job's name, which is the user's.
	beginForm = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`JobId=(\d+) UserId=[^()\s]*\((\d+)\) GroupId=[^()\s]*\(\d+\) Name=`)
	})
	// From there to the job's folder, which is the user's, too.
	chainForm = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(` JobState=([A-Z_]+) Partition=\S* TimeLimit=\S+ StartTime=(\S+) EndTime=(\S+) NodeList=(\S+) NodeCnt=\d+ ProcCnt=\d+ WorkDir=`)
	})
	endForm = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(` SubmitTime=\S+ EligibleTime=\S+(?: DerivedExitCode=\S+)? ExitCode=\d+:\d+ ?$`)
	})
)

// What is read together at most: longer names are lost.
const (
	maxRecord   = 64 << 10 // bytes
	maxReadings = 16       // of one record, and records that seem to go on in one another
)

// ParseCompletions reads the job completion log: every way in which something in it can
// be a record. Its times are whole seconds in loc. Lines that are in no record come back
// apart. The error is that of the reader.
func ParseCompletions(r io.Reader, file string, loc *time.Location) (out []Completion, other []Line, err error) {
	p := completions{loc: loc}
	err = eachLine(r, file, p.line)
	p.finish()
	p.giveUp(len(p.open))
	return p.out, p.other, err
}

// completions is what is known in the middle of the log.
type completions struct {
	loc   *time.Location
	out   []Completion
	other []Line
	now   []Line  // the record being read: a head, and lines that are none
	size  int     // of it, in bytes
	open  []stump // those before that have no end
}

// stump is a record without an end: what follows may be the rest of it.
type stump struct {
	first Line
	text  string
}

// line takes a line, which may hold several records: Slurm cuts one off at 1024 bytes,
// with its end of line, and writes the next one after it.
func (p *completions) line(l Line) {
	at := beginForm().FindAllStringIndex(l.Text, -1)
	if len(at) == 0 {
		p.piece(l, false)
		return
	}
	if before := l.Text[:at[0][0]]; before != "" {
		p.piece(Line{File: l.File, Number: l.Number, Text: before}, false)
	}
	for i, from := range at {
		end := len(l.Text)
		if i+1 < len(at) {
			end = at[i+1][0]
		}
		p.piece(Line{File: l.File, Number: l.Number, Text: l.Text[from[0]:end]}, true)
	}
}

func (p *completions) piece(l Line, begins bool) {
	switch {
	case begins:
		p.finish()
		p.now, p.size = []Line{l}, len(l.Text)
	case len(p.now) > 0 && p.size+len(l.Text) < maxRecord:
		p.now, p.size = append(p.now, l), p.size+len(l.Text)+1
	case strings.TrimSpace(l.Text) != "":
		p.other = append(p.other, l)
	}
}

// finish takes the record that was being read, as the next one begins.
func (p *completions) finish() {
	if len(p.now) == 0 {
		return
	}
	lines := p.now
	p.now = nil
	end := len(lines)
	for end > 0 && !endForm().MatchString(lines[end-1].Text) {
		end--
	}
	if end == 0 {
		text := joined(lines)
		p.goOn(text)
		p.open = append(p.open, stump{lines[0], text})
		p.giveUp(len(p.open) - maxReadings)
		return
	}
	p.other = append(p.other, lines[end:]...)
	text := joined(lines[:end])
	inside := len(p.open) > 0
	p.goOn(text)
	for _, s := range p.open {
		p.read(s.first, s.text, true)
	}
	p.open = nil
	p.read(lines[0], text, inside)
}

func joined(lines []Line) string {
	var b strings.Builder
	for i, l := range lines {
		if i > 0 {
			b.WriteByte('\n')
		}
		b.WriteString(l.Text)
	}
	return b.String()
}

// goOn makes text a part of the records that are open.
func (p *completions) goOn(text string) {
	for i := range p.open {
		if s := &p.open[i]; len(s.text)+len(text) < maxRecord {
			s.text += "\n" + text
		}
	}
}

// giveUp reads the first n open records as they are: nothing ends them.
func (p *completions) giveUp(n int) {
	for ; n > 0; n-- {
		p.read(p.open[0].first, p.open[0].text, true)
		p.open = p.open[1:]
	}
}

// read notes the readings of a record, each of which is what stands between some two of
// the user's words.
func (p *completions) read(first Line, text string, doubtful bool) {
	head := beginForm().FindStringSubmatch(text)
	chains := chainForm().FindAllStringSubmatch(text, maxReadings+1)
	var found []Completion
	for _, m := range chains {
		c := Completion{Line: first, Job: job(head[1]), UID: job(head[2]), State: m[1], Doubtful: doubtful || len(chains) > 1}
		c.Text = text
		nodes, err := expand(m[4])
		end, ok := parseStamp(m[3], p.loc)
		if err != nil || !ok {
			continue
		}
		c.Nodes, c.End, c.At, c.Grain = nodes, end, end, time.Second
		c.Start, _ = parseStamp(m[2], p.loc) // "Unknown" of a job that never ran
		found = append(found, c)
	}
	if len(found) == 0 || len(chains) > maxReadings {
		p.other = append(p.other, first)
		return
	}
	p.out = append(p.out, found...)
}
