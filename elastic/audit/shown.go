package audit

import (
	"io"
	"regexp"
	"sync"
)

// Shown is one job of a dump (scontrol --oneliner show job).
type Shown struct {
	Line
	Job    int64
	State  string
	Tagged bool // its comment is a tag of sluice
}

var shownForm = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^JobId=(\d+) .*? JobState=([A-Z_]+) Reason=`)
})

var taggedForm = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(` Comment=sluice/1 id=[0-9a-f]{32} `) })

// ParseShown reads a dump of jobs. Lines of another form are skipped. The error is the
// reader's.
func ParseShown(r io.Reader, file string) (out []Shown, err error) {
	err = eachLine(r, file, func(l Line) {
		if m := shownForm().FindStringSubmatch(l.Text); m != nil {
			out = append(out, Shown{Line: l, Job: job(m[1]), State: m[2], Tagged: taggedForm().MatchString(l.Text)})
		}
	})
	return out, err
}
