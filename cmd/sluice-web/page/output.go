package page

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
	"unicode"

	"github.com/sluice-hpc/sluice/elastic/control/wire"
)

// logView is the output of a job, or of one of its runs.
type logView struct {
	Job     int64
	Run     string // "" = all
	Command string
	Text    string
	Cut     bool // it is the end of a longer text
	Wrong   string
	Stderr  bool
}

// maxLog is how much of a log is read, maxShown how much of its end is shown, in bytes.
const (
	maxLog   = 32 << 20
	maxShown = 128 << 10
)

// output shows a job's output by "sluice logs", run as the viewer.
func (p *Pages) output(v *visit) (*sheet, error) {
	id, err := jobOf(v)
	if err != nil {
		return nil, err
	}
	view := logView{Job: int64(id), Run: v.FormValue("run"), Stderr: v.FormValue("stderr") != ""}
	args := []string{"logs"}
	if view.Run != "" {
		if _, err := strconv.ParseUint(view.Run, 10, 31); err != nil && view.Run != "last" {
			return nil, wire.Fail(wire.BadRequest, "", "%.20q is not the number of a run", view.Run)
		}
		args = append(args, "--segment", view.Run)
	}
	if view.Stderr {
		args = append(args, "--stderr")
	}
	args = append(args, strconv.FormatInt(int64(id), 10))
	view.Command = command(args)
	if p.Tool == nil {
		view.Wrong = "these pages do not read users' files; type the command above on a login node"
		return &sheet{name: "log", title: fmt.Sprintf("Output of job %d", id), view: view}, nil
	}
	out, errs, err := p.Tool.Sluice(v.Context(), "", nil, maxLog, args...)
	if err != nil {
		view.Wrong = strings.TrimSpace(string(errs))
		if view.Wrong == "" {
			view.Wrong = err.Error()
		}
	}
	if len(out) > maxShown {
		out, view.Cut = out[len(out)-maxShown:], true
		if i := bytes.IndexByte(out, '\n'); i >= 0 {
			out = out[i+1:]
		}
	}
	view.Text = readable(string(out))
	return &sheet{name: "log", title: fmt.Sprintf("Output of job %d", id), view: view, refresh: true}, nil
}

// readable keeps what a page can show of a program's output: of a line that was written over with
// carriage returns, as progress bars do, the last state.
func readable(s string) string {
	var b strings.Builder
	for line := range strings.Lines(s) {
		end := strings.TrimRight(line, "\r\n")
		if i := strings.LastIndexByte(end, '\r'); i >= 0 {
			end = end[i+1:]
		}
		b.WriteString(strings.Map(func(r rune) rune {
			if r == '\t' || unicode.IsPrint(r) {
				return r
			}
			return '\uFFFD'
		}, end))
		b.WriteByte('\n')
	}
	return b.String()
}
