package report

import (
	"bufio"
	_ "embed" // the page
	"fmt"
	"html/template"
	"io"
	"math"
	"strings"
	"sync"

	"github.com/sluice-hpc/sluice/elastic/draw"
)

var (
	//go:embed page.html
	pageText string
	//go:embed page.css
	pageStyle string
	//go:embed page.js
	pageScript string
)

// pageTemplate is parsed when a page is written: not at every start of sluice.
var pageTemplate = sync.OnceValue(func() *template.Template {
	return template.Must(template.New("page").Parse(pageText))
})

// page is what the template is filled with.
type page struct {
	Title  string
	Style  template.CSS
	Script template.JS
	Blocks []pageBlock
	Across *pageAcross // with several workloads
	Rules  []pageRule
}

// pageBlock is one workload.
type pageBlock struct {
	ID      string
	Name    string
	Note    string
	Facts   []string
	Verdict string
	Seeds   int
	Table   pageTable
	Each    pageTable // one row a seed; empty with one seed
	Spread  template.HTML
	Curves  []curve
	Small   []template.HTML
	Courses []pageCourse
	Grouped bool // lanes are of several jobs
	Seed    uint64
}

// pageCourse is one policy's run over time.
type pageCourse struct {
	Policy, Class string
	Facts         []string
	Use, Lanes    template.HTML
}

// WriteHTML writes one self-contained page: it needs no network, no server and no
// other file, and its printed figures are those of WriteJSON. Its size is bounded
// by the number of runs, not of jobs.
func WriteHTML(w io.Writer, runs []Run) error {
	p := page{Title: "sluice simulate", Style: template.CSS(pageStyle + draw.Style()), Script: template.JS(pageScript)}
	all := blocks(runs)
	for i, b := range all {
		p.Blocks = append(p.Blocks, b.page(i))
	}
	if len(all) > 1 {
		p.Across = across(all)
	}
	p.Rules = rules(runs)
	b := bufio.NewWriterSize(w, 1<<16)
	if err := pageTemplate().Execute(b, p); err != nil {
		return fmt.Errorf("the page: %w", err)
	}
	return b.Flush()
}

func (b block) page(i int) pageBlock {
	id := fmt.Sprintf("w%d", i+1)
	first := b.rows[0]
	out := pageBlock{
		ID: id, Name: draw.Printable(b.name), Note: draw.Printable(b.note), Seeds: len(first.runs), Seed: first.Seed,
		Facts: b.facts(), Verdict: b.verdict(), Table: figures(b.rows, false),
	}
	if out.Seeds > 1 {
		out.Each = figures(b.each(), true)
	}
	var scale logScale
	out.Spread, out.Curves, scale = spreadChart(b, id)
	out.Small = smallSpreads(out.Curves, scale)
	for k := range out.Curves {
		out.Curves[k].Name = draw.Printable(out.Curves[k].Name)
	}
	s := scaleOf(b)
	for k, r := range b.rows {
		t := r.track()
		if t == nil {
			continue
		}
		out.Grouped = out.Grouped || t.jobs > maxLanes
		run := r.runs[0]
		scale, differs := s.own(t)
		facts := []string{
			"mean JCT " + run.MeanJCT.String() + " s", "makespan " + run.Makespan.String() + " s",
			run.Restarts.String() + " restarts a job", "longest wait " + run.MaxWait.String() + " s",
		}
		if differs {
			facts = append(facts, "takes so long that its time scale is another")
		}
		out.Courses = append(out.Courses, pageCourse{
			Policy: draw.Printable(r.Policy), Class: colour(k), Facts: facts,
			Use: courseChart(t, scale, r.Policy, colour(k)), Lanes: lanesChart(t, scale, r.Policy, colour(k)),
		})
	}
	return out
}

// each is one row for each run, as blocks' rows are one for each policy.
func (b block) each() []row {
	var out []row
	for _, r := range b.rows {
		for k, run := range r.runs {
			vs := &r.runs[k].Summary
			for _, first := range b.rows[0].runs {
				if first.Seed == run.Seed {
					vs = &first.Summary
				}
			}
			out = append(out, row{Summary: run.Summary, runs: []Run{run}, vs: vs})
		}
	}
	return out
}

// facts says what was run in a few words each.
func (b block) facts() []string {
	r := b.rows[0]
	out := []string{draw.Count(r.Jobs, "job")}
	if r.Cluster != "" {
		out = append(out, strings.ReplaceAll(draw.Printable(r.Cluster), "x", " × ")+" GPUs")
	}
	out = append(out, "information: "+string(r.Info), "a decision every "+brief(r.Interval), "a restart costs "+r.costs())
	if len(r.runs) > 1 {
		out = append(out, fmt.Sprintf("figures are means over %d seeds", len(r.runs)))
	} else {
		out = append(out, fmt.Sprintf("seed %d", r.Seed))
	}
	return out
}

// verdict says in a sentence which policy did best.
func (b block) verdict() string {
	if len(b.rows) < 2 {
		return ""
	}
	jct, span := b.rows[0], b.rows[0]
	for _, r := range b.rows {
		if r.MeanJCT < jct.MeanJCT {
			jct = r
		}
		if r.Makespan < span.Makespan {
			span = r
		}
	}
	text := fmt.Sprintf("Jobs are done soonest under %s: mean JCT %s s", draw.Printable(jct.Policy), jct.MeanJCT)
	if jct.Policy != b.rows[0].Policy {
		text += fmt.Sprintf(", %s of %s's", toFirst(jct.MeanJCT, jct.vs.MeanJCT), draw.Printable(b.rows[0].Policy))
	}
	if span.Policy == jct.Policy {
		return text + ". It has the shortest makespan too."
	}
	return text + fmt.Sprintf(". All jobs together are done soonest under %s: makespan %s s, against %s s.", draw.Printable(span.Policy), span.Makespan, jct.Makespan)
}

// pageAcross is one figure over all workloads.
type pageAcross struct {
	Workloads []pageLink
	Rows      []pageAcrossRow
}

type pageLink struct{ ID, Name string }

type pageAcrossRow struct {
	Policy, Class string
	Cells         []pageAcrossCell
	Mean          string
}

type pageAcrossCell struct {
	Text, Ratio string
	Shade       template.CSS // "" where there is nothing to compare
}

// across compares mean JCT over workloads.
func across(all []block) *pageAcross {
	out := &pageAcross{}
	for i, b := range all {
		out.Workloads = append(out.Workloads, pageLink{fmt.Sprintf("w%d", i+1), draw.Printable(b.name)})
	}
	for k, r := range all[0].rows {
		line := pageAcrossRow{Policy: draw.Printable(r.Policy), Class: colour(k)}
		sum, n := 0.0, 0
		for _, b := range all {
			cell := pageAcrossCell{}
			for _, other := range b.rows {
				if other.Policy == r.Policy {
					ratio := toFirst(other.MeanJCT, other.vs.MeanJCT)
					cell = pageAcrossCell{other.MeanJCT.String(), ratio.String(), heat(float64(ratio))}
					sum += float64(ratio)
					n++
				}
			}
			line.Cells = append(line.Cells, cell)
		}
		line.Mean = Ratio(sum / float64(n)).String()
		out.Rows = append(out.Rows, line)
	}
	return out
}

// heat tints a cell: better than the first policy one way, worse the other.
func heat(ratio float64) template.CSS {
	if !(ratio > 0) {
		return ""
	}
	strength := math.Min(1, math.Abs(math.Log(ratio))/math.Log(3))
	name := "better"
	if ratio > 1 {
		name = "worse"
	}
	return template.CSS(fmt.Sprintf("background:color-mix(in srgb, var(--%s) %.0f%%, transparent)", name, 45*strength))
}
