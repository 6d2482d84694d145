package audit

import (
	"io"
	"regexp"
	"strings"
	"sync"
	"time"
)

// Completion is one reading of a record of the job completion log (jobcomp/filetxt): the end of
// one run, or of a job that never ran.
type Completion struct {
	Line
	Job        int64
	UID        int64
	State      string // PENDING of a run that was requeued
	Start, End time.Time
	Nodes      []string
	// Doubtful: the record has other readings. Job names and folders are written to the log
	// unescaped, with line breaks. So a record may look like several, may repeat fields, or may
	// itself be part of a job name. All readings of one record have the place of its first
	// line.
	Doubtful bool
}

// Final reports whether the job was over with this run, unless it was requeued later.
func (c Completion) Final() bool { return c.State != "PENDING" && c.State != "REQUEUED" }

var (
	// Matches up to the job's name, which the user chooses.
	beginForm = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`JobId=(\d+) UserId=[^()\s]*\((\d+)\) GroupId=[^()\s]*\(\d+\) Name=`)
	})
	// Matches from the name to the job's folder, which the user chooses too.
	chainForm = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(` JobState=([A-Z_]+) Partition=\S* TimeLimit=\S+ StartTime=(\S+) EndTime=(\S+) NodeList=(\S+) NodeCnt=\d+ ProcCnt=\d+ WorkDir=`)
	})
	endForm = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(` SubmitTime=\S+ EligibleTime=\S+(?: DerivedExitCode=\S+)? ExitCode=\d+:\d+ ?$`)
	})
)

// Bounds of what is read together; longer names are lost.
const (
	maxRecord   = 64 << 10 // bytes
	maxReadings = 16       // of one record, and records that seem to go on in one another
)

// ParseCompletions reads the job completion log and returns every way in which a part of it can
// be a record. Its times are whole seconds in loc. Lines that belong to no record are returned
// separately. The error is the reader's.
func ParseCompletions(r io.Reader, file string, loc *time.Location) (out []Completion, other []Line, err error) {
	p := completions{loc: loc}
	err = eachLine(r, file, p.line)
	p.finish()
	p.giveUp(len(p.open))
	return p.out, p.other, err
}

// completions is the state of the parser in the middle of the log.
type completions struct {
	loc   *time.Location
	out   []Completion
	other []Line
	now   []Line  // the record being read: its first line and lines without a record
	size  int     // size of now in bytes
	open  []stump // earlier records without an end
}

// stump is a record without an end: the text that follows may be the rest of it.
type stump struct {
	first Line
	text  string
}

// line takes a line. A line may hold several records: Slurm cuts a record off at 1024 bytes,
// including its line end, and appends the next one.
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

// finish closes the record that was being read when the next one begins.
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

// goOn appends text to the open records.
func (p *completions) goOn(text string) {
	for i := range p.open {
		if s := &p.open[i]; len(s.text)+len(text) < maxRecord {
			s.text += "\n" + text
		}
	}
}

// giveUp reads the first n open records as they are, without an end.
func (p *completions) giveUp(n int) {
	for ; n > 0; n-- {
		p.read(p.open[0].first, p.open[0].text, true)
		p.open = p.open[1:]
	}
}

// read stores the readings of a record. The text between any two parts that the user chose is
// one reading.
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
