package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"strings"
	"unicode/utf8"

	"github.com/sluice-hpc/sluice/checkpoint/runner"
	"github.com/sluice-hpc/sluice/cmd/terminal"
)

// longestBanner bounds a line that may be a banner.
const longestBanner = 2 << 10

// picker passes on the lines of a segment.
type picker struct {
	out     io.Writer
	job     int64
	want    int  // the segment; negative = everything
	onwards bool // and all later segments
	found   bool // its beginning was seen
	past    bool // the beginning of a later segment was seen
	within  bool
	head    []byte // the beginning of a line that may become a banner
	midline bool   // the present line is no banner
}

// Write processes the next part of the file. A part that may still become a banner is
// kept until the next call.
func (p *picker) Write(data []byte) (int, error) {
	if p.want < 0 {
		return p.out.Write(data)
	}
	for rest := data; len(rest) > 0; { // parts end anywhere: where a read ended
		line, more := cutLine(rest)
		rest = more
		if p.midline {
			p.midline = line[len(line)-1] != '\n'
			if err := p.pass(line); err != nil {
				return 0, err
			}
			continue
		}
		p.head = append(p.head, line...)
		complete := p.head[len(p.head)-1] == '\n'
		if !complete && mayBecomeBanner(p.head) {
			continue
		}
		if complete {
			p.consider(string(p.head))
		}
		p.midline = !complete
		if err := p.flush(); err != nil {
			return 0, err
		}
	}
	return len(data), nil
}

// cutLine splits after the first newline.
func cutLine(data []byte) (line, rest []byte) {
	if i := bytes.IndexByte(data, '\n'); i >= 0 {
		return data[:i+1], data[i+1:]
	}
	return data, nil
}

func mayBecomeBanner(head []byte) bool {
	n := min(len(head), len(runner.BannerBegin))
	return len(head) <= longestBanner && string(head[:n]) == runner.BannerBegin[:n]
}

// consider detects where segments begin. A file may contain the output of several jobs.
func (p *picker) consider(line string) {
	b, ok := runner.ParseBanner(line)
	if !ok || b.End {
		return
	}
	p.within = b.Job == p.job && (b.Segment == p.want || (p.onwards && b.Segment > p.want))
	p.found = p.found || p.within
	p.past = p.past || (b.Job == p.job && b.Segment > p.want && !p.onwards)
}

// flush passes on the kept part.
func (p *picker) flush() error {
	head := p.head
	p.head = nil
	return p.pass(head)
}

func (p *picker) pass(data []byte) error {
	if !p.within || len(data) == 0 {
		return nil
	}
	_, err := p.out.Write(data)
	return err
}

// lastSegment returns the newest segment of a job in a file, and seeks to the file's
// start.
func lastSegment(file *os.File, job int64) (int, error) {
	last := &seeker{job: job, last: -1}
	_, err := io.Copy(last, file)
	if err == nil {
		_, err = file.Seek(0, io.SeekStart)
	}
	if err == nil && last.last < 0 {
		err = fmt.Errorf("job %d: no run begins in %s; without --segment all of it is printed", job, terminal.Escape(file.Name()))
	}
	return last.last, err
}

// seeker finds the newest segment.
type seeker struct {
	job  int64
	last int
	head []byte
	skip bool
}

// Write processes the next part of the file.
func (s *seeker) Write(data []byte) (int, error) {
	for rest := data; len(rest) > 0; {
		line, more := cutLine(rest)
		rest = more
		complete := line[len(line)-1] == '\n'
		if !s.skip {
			s.head = append(s.head, line...)
			if b, ok := runner.ParseBanner(string(s.head)); complete && ok && !b.End && b.Job == s.job {
				s.last = max(s.last, b.Segment)
			}
		}
		s.skip = !complete && (s.skip || !mayBecomeBanner(s.head))
		if complete || s.skip {
			s.head = nil
		}
	}
	return len(data), nil
}

// harmless escapes control characters instead of sending them to a terminal.
type harmless struct {
	out  io.Writer
	rest []byte // part of a character that the next part completes
}

// Write passes lines on.
func (h *harmless) Write(data []byte) (int, error) {
	text := append(h.rest, data...)
	whole := len(text)
	for i := max(0, whole-utf8.UTFMax+1); i < whole; i++ {
		if utf8.RuneStart(text[i]) && !utf8.FullRune(text[i:]) {
			whole = i
			break
		}
	}
	h.rest = bytes.Clone(text[whole:])
	var b strings.Builder
	for line := range strings.Lines(string(text[:whole])) {
		body, newline := strings.CutSuffix(line, "\n")
		for i, cell := range strings.Split(body, "\t") { // tabs are control characters that programs align by
			if i > 0 {
				b.WriteByte('\t')
			}
			b.WriteString(terminal.Escape(cell))
		}
		if newline {
			b.WriteByte('\n')
		}
	}
	_, err := io.WriteString(h.out, b.String())
	return len(data), err
}
