package page

import (
	"embed"
	"fmt"
	"html/template"
	"math"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/sluice-hpc/sluice/cmd/present"
	"github.com/sluice-hpc/sluice/elastic/control/wire"
	"github.com/sluice-hpc/sluice/elastic/draw"
	"github.com/sluice-hpc/sluice/nodes"
)

//go:embed templates
var templates embed.FS

// pages are the templates, each a file.
var pages = []string{"cluster", "jobs", "job", "log", "sweeps", "sweep", "sweeporder", "time", "whatif", "shares", "replay", "trial", "saved", "submit", "checked", "done", "failed"}

// parsed returns the templates of all pages, each with the layout and the parts.
var parsed = sync.OnceValue(func() map[string]*template.Template {
	common := template.Must(template.New("").Funcs(words).ParseFS(templates, "templates/layout.html", "templates/parts.html"))
	all := map[string]*template.Template{}
	for _, name := range pages {
		all[name] = template.Must(template.Must(common.Clone()).ParseFS(templates, "templates/"+name+".html"))
	}
	return all
})

// words are the functions of the templates.
var words = template.FuncMap{
	"name": func(s string) string { return short(s, 48) }, "text": func(s string) string { return short(s, 400) },
	"clock": clock, "when": when, "stamp": stamp, "iso": iso, "figure": figure, "amount": amount,
	"percent": percent, "place": place, "sizes": func(j wire.Job) string { return sizes(&j) }, "state": func(j wire.Job) string { return state(&j) }, "busy": func(j wire.Job) int { return busy(&j) }, "hue": func(id int64) int { return draw.Hue(int(id)) },
	"share": share, "plural": draw.Count, "seconds": lasting, "later": later, "dict": dict, "sum": func(a, b int) int { return a + b }, "depth": func(n int) int { return min(n, 6) },
	"pace":     func(j wire.Job) string { return present.Pace(j.Seconds, j.Source, unit(j.Unit)) },
	"why":      func(j wire.Job) string { return present.Reason(&j) },
	"work":     func(j wire.Job) string { return present.Work(&j) },
	"negative": func(f float64) float64 { return -f }, "spoken": spoken, "unknown": unknown, "hours": hours, "policies": func() []string { return policies },
	"metric": metric, "sweepclass": sweepClass,
	"met": func(b bool) string { return map[bool]string{true: "met", false: "missed"}[b] },
}

// dict makes a map of its arguments, names and values in turn: what a part of a page is given.
func dict(pairs ...any) (map[string]any, error) {
	out := map[string]any{}
	for i := 0; i+1 < len(pairs); i += 2 {
		name, ok := pairs[i].(string)
		if !ok {
			return nil, fmt.Errorf("dict: argument %d is no name", i)
		}
		out[name] = pairs[i+1]
	}
	return out, nil
}

// unit is the name of a unit of work, for a speed.
func unit(of string) string {
	if of == "" {
		return "unit"
	}
	return of
}

// spoken writes the length of a range: "6 hours", "7 days".
func spoken(length string) string {
	d, _ := time.ParseDuration(length)
	if d >= 2*draw.Day {
		return draw.Count(int(d/draw.Day), "day")
	}
	return draw.Count(int(d/time.Hour), "hour")
}

// hours writes hours with their unit.
func hours(h float64) string { return figure(h) + " h" }

// unknown says why an end is not known.
func unknown(code string) string {
	if text, ok := map[string]string{"no_total": "work not declared", "no_speed": "speed not known yet", "held": "held", "waits": "waits", "horizon": "after the forecast"}[code]; ok {
		return text
	}
	return "not known"
}

// short replaces what a browser would act upon and cuts the text in the middle.
func short(s string, n int) string {
	if len(s) > 8*n { // before it is looked at rune by rune: names may have 64 KB
		s = strings.ToValidUTF8(s[:4*n], "") + "…" + strings.ToValidUTF8(s[len(s)-4*n:], "")
	}
	return draw.Shortened(draw.Printable(s), n)
}

// clock writes seconds as squeue does; "–" if there are none.
func clock(s float64) string {
	if s <= 0 || math.IsNaN(s) {
		return "–"
	}
	return lasting(s)
}

// lasting writes seconds in at most two units.
func lasting(s float64) string {
	return draw.Lasting(time.Duration(math.Min(math.Abs(s), 1e9) * float64(time.Second)))
}

// later writes a difference of ends: "12 min later", "3 min sooner".
func later(s float64) string {
	switch {
	case math.Abs(s) < 1:
		return "no change"
	case s < 0:
		return lasting(s) + " sooner"
	}
	return lasting(s) + " later"
}

// when writes a time in the host's time zone, without the date if it is of the same day as now.
func when(t, now time.Time) string {
	if t.IsZero() {
		return "–"
	}
	t, now = t.Local(), now.Local()
	switch y, d := t.Year() == now.Year(), t.YearDay() == now.YearDay(); {
	case y && d:
		return t.Format("15:04:05")
	case y:
		return t.Format("2 Jan 15:04")
	}
	return t.Format("2006-01-02 15:04")
}

// stamp is a whole time, for a title.
func stamp(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.Local().Format("2006-01-02 15:04:05 MST")
}

// iso is a time for programs.
func iso(t time.Time) string { return t.UTC().Format(time.RFC3339) }

// figure writes a number with three digits.
func figure(f float64) string {
	switch {
	case f == 0 || math.IsNaN(f) || math.IsInf(f, 0):
		return "0"
	case math.Abs(f) >= 1000:
		return draw.Grouped(int(math.Round(f)))
	case math.Abs(f) >= 100:
		return strconv.FormatFloat(f, 'f', 0, 64)
	case math.Abs(f) >= 10:
		return strconv.FormatFloat(f, 'f', 1, 64)
	}
	return strconv.FormatFloat(f, 'g', 3, 64)
}

// amount writes done work: at most two decimals.
func amount(f float64) string {
	return strings.TrimSuffix(strings.TrimRight(strconv.FormatFloat(f, 'f', 2, 64), "0"), ".")
}

// percent is a part of a whole, from 0 to 100; 0 if there is no whole.
func percent(part, whole float64) int {
	if !(whole > 0) || !(part > 0) {
		return 0
	}
	return int(math.Round(100 * math.Min(1, part/whole)))
}

// place writes a placement: gpu1:4 + gpu2:2.
func place(p nodes.Placement) string {
	var b strings.Builder
	for i, n := range p {
		if i > 0 {
			b.WriteString(" + ")
		}
		if i == 8 && len(p) > 9 {
			fmt.Fprintf(&b, "%d more nodes", len(p)-i)
			break
		}
		fmt.Fprintf(&b, "%s:%d", short(n.Node, 40), n.GPUs)
	}
	if b.Len() == 0 {
		return "–"
	}
	return b.String()
}

// sizes writes the sizes that a job accepts.
func sizes(j *wire.Job) string {
	switch {
	case j.Pinned > 0:
		return fmt.Sprintf("=%d", j.Pinned)
	case len(j.Sizes) > 0:
		return short(strings.Trim(strings.ReplaceAll(fmt.Sprint(j.Sizes), " ", ","), "[]"), 40)
	case j.Max == j.Min:
		return strconv.Itoa(j.Min)
	case j.Max == 0:
		return fmt.Sprintf("%d–", j.Min)
	case j.Step > 1:
		return fmt.Sprintf("%d–%d/%d", j.Min, j.Max, j.Step)
	}
	return fmt.Sprintf("%d–%d", j.Min, j.Max)
}

// state is one word for a job's state: what colours and labels it.
func state(j *wire.Job) string {
	switch {
	case j.Ended && j.State == "COMPLETED":
		return "completed"
	case j.Ended:
		return "ended"
	case j.Move != nil && j.Move.Kind != "start": // a job that is about to start waits
		return "resizing"
	case j.OnHold:
		return "held"
	case j.GPUs > 0:
		return "running"
	}
	return "waiting"
}

// busy is the utilisation of a job's GPUs in percent; -1 = not known.
func busy(j *wire.Job) int {
	if j.Busy == nil {
		return -1
	}
	return int(math.Round(100 * *j.Busy))
}

// metric writes the value of a metric.
func metric(x any) string {
	switch v := x.(type) {
	case float64:
		return present.Metric(v)
	case *float64:
		return present.Metric(*v)
	}
	return "–"
}

// sweepClass is what colours the state of a sweep, a lane or a trial.
func sweepClass(state string) string {
	switch state {
	case "running", "waiting":
		return state
	case "failed":
		return "ended"
	}
	return "rests"
}

// share writes GPUs as shares count them: one decimal.
func share(f float64) string { return amount(math.Round(f*10) / 10) }
