package page

import (
	"net/url"
	"strconv"

	"github.com/sluice-hpc/sluice/cmd/present"
	"github.com/sluice-hpc/sluice/elastic/control/wire"
)

// rowsOfPage is how many jobs a page lists.
const rowsOfPage = 250

// jobsView is the list of jobs.
type jobsView struct {
	At      int64
	Filter  string
	Wrong   string // what is wrong with the filter
	Command string // the same on the command line
	Jobs    []wire.Job
	Tasks   map[int64]string // shown instead of a number for several tasks of an array
	All     int              // jobs that the filter selects
	From    int              // place of the first one listed, from 0
	Before  string           // links; "" = none
	After   string
}

func (p *Pages) jobs(v *visit) (*sheet, error) {
	text := v.FormValue("q")
	view := jobsView{Filter: text, Command: "sluice queue"}
	f, err := present.ParseFilter(text)
	if err != nil {
		view.Wrong, f = err.Error(), present.Filter{}
	}
	ask := v.daemon.Present
	if f.Ended() {
		ask = v.daemon.Report
	}
	report, err := ask(v.Context())
	if err != nil {
		return nil, err
	}
	view.At = report.At.Unix()
	wanted, err := f.Matcher(report, v.viewer.UID)
	if err != nil {
		view.Wrong = err.Error()
		wanted = func(j *wire.Job) bool { return !j.Ended }
	}
	listed := report.Jobs[:0]
	for i := range report.Jobs {
		if wanted(&report.Jobs[i]) {
			listed = append(listed, report.Jobs[i])
		}
	}
	if len(f.Jobs) == 0 {
		listed, view.Tasks = present.Folded(listed)
	}
	if text != "" && view.Wrong == "" && len(f.Words) == 0 {
		view.Command = "sluice queue " + text
	}
	view.All = len(listed)
	view.From = min(max(number(v.FormValue("from")), 0), max(0, len(listed)-1))
	link := func(from int) string {
		return "?" + url.Values{"q": {text}, "from": {strconv.Itoa(from)}}.Encode()
	}
	if view.From > 0 {
		view.Before = link(max(0, view.From-rowsOfPage))
	}
	if end := view.From + rowsOfPage; end < len(listed) {
		view.After, listed = link(end), listed[:end]
	}
	view.Jobs = listed[view.From:]
	return &sheet{name: "jobs", title: "Jobs", view: view, refresh: true}, nil
}

// number reads a number of a request; 0 if it is none.
func number(s string) int {
	n, err := strconv.Atoi(s)
	if err != nil {
		return 0
	}
	return n
}
