package report

import (
	"fmt"
	"html/template"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/sluice-hpc/sluice/elastic/draw"
)

// lanesChart draws GPUs over time, a lane a job or a lane a group of jobs.
func lanesChart(t *Track, s courseScale, policy, class string) template.HTML {
	if len(t.lanes) == 0 {
		return ""
	}
	high := draw.LaneHeight(len(t.lanes))
	p := draw.Panel{Left: s.left, Top: 6, Width: courseWidth - s.left - courseRight, Height: high * float64(len(t.lanes))}
	label := "GPUs of each job over time under " + policy
	d := draw.New(courseWidth, p.Top+p.Height+22, "chart lanes", label)
	d.TimeAxis(p, draw.TimeTicks(s.end, 14), s.end.Seconds(), true)
	laneMarks(d, t, p, high)
	if t.lanes[0].group != nil {
		groups(d, t, s, p, high, class)
		return d.Done()
	}
	for i := range t.lanes {
		d.Lane(t.lanes[i].drawn(i), draw.Panel{Left: p.Left, Top: p.Top + high*float64(i), Width: p.Width, Height: high}, s.end.Seconds(), s.most)
	}
	return d.Done()
}

// laneMarks names the lanes, or counts them where there is no room for names.
func laneMarks(d *draw.Pen, t *Track, p draw.Panel, high float64) {
	per := float64(t.jobs) / float64(len(t.lanes))
	every := 1
	for float64(every)*high < 40 {
		every = int(draw.Nice(float64(every) + 1))
	}
	for i := range t.lanes {
		y := p.Top + high*(float64(i)+.5)
		switch {
		case high >= draw.NameHeight:
			d.Text(p.Left-6, y+3.5, "end", "tick", draw.Shortened(t.lanes[i].name, 20))
		case (i+1)%every == 0 || i == 0:
			d.Text(p.Left-6, y+3.5, "end", "tick", draw.Grouped(int(float64(i)*per)+1))
		}
	}
}

// drawn is the lane of the i-th job as draw draws it.
func (l *lane) drawn(i int) draw.Lane {
	out := draw.Lane{Name: l.name, Title: l.story(i), Key: i, Data: strconv.Itoa(i)}
	for _, sp := range l.spans {
		out.Spans = append(out.Spans, draw.Span{From: sp.from.Seconds(), To: sp.to.Seconds(), GPUs: sp.gpus, Restarting: sp.restarting.Seconds(), Sure: 1})
	}
	return out
}

// story is a job's lane in words.
func (l *lane) story(i int) string {
	var wait, worked time.Duration
	var sizes []string
	for k, sp := range l.spans {
		if sp.gpus == 0 {
			wait += sp.to - sp.from
			continue
		}
		worked += sp.to - sp.from
		if n := strconv.Itoa(sp.gpus); k == 0 || len(sizes) == 0 || sizes[len(sizes)-1] != n {
			sizes = append(sizes, n)
		}
	}
	if n := len(sizes); n > 12 {
		sizes = append(append(sizes[:6:6], "…"), sizes[n-6:]...)
	}
	return fmt.Sprintf("job %d, %s: came after %s, waited %s, ran %s; GPUs %s; %s", i+1, l.name,
		draw.Lasting(l.submit), draw.Lasting(wait), draw.Lasting(worked), strings.Join(sizes, " → "), draw.Count(max(0, l.moves-1), "restart"))
}

// groupCells is how many steps of time a lane of several jobs shows.
const groupCells = 180

// levels are the shades of lanes of several jobs.
const levels = 8

// groups draws lanes of several jobs: the darker, the more GPUs.
func groups(d *draw.Pen, t *Track, s courseScale, p draw.Panel, high float64, class string) {
	cells := make([][]float64, len(t.lanes))
	most := 0.0
	for i, l := range t.lanes {
		cells[i] = l.group.means(s.end, groupCells)
		for _, v := range cells[i] {
			most = max(most, v)
		}
	}
	var shades [levels + 1]strings.Builder
	step := p.Width / groupCells
	for i, lane := range cells {
		for from := 0; from < groupCells; {
			level, to := shade(lane[from], most), from+1
			for to < groupCells && shade(lane[to], most) == level {
				to++
			}
			if level > 0 {
				shades[level].WriteString(draw.Box(p.Left+step*float64(from), p.Top+high*float64(i), step*float64(to-from), high))
			}
			from = to
		}
	}
	for level := range shades {
		d.Path("shade "+class, shades[level].String(), fmt.Sprintf(`style="opacity:%.2f"`, .12+.88*float64(level)/levels))
	}
	for i := range t.lanes {
		first, last := (i*t.jobs+len(t.lanes)-1)/len(t.lanes)+1, ((i+1)*t.jobs+len(t.lanes)-1)/len(t.lanes)
		d.Printf(`<g class="lane"><title>jobs %s to %s</title>`, draw.Grouped(first), draw.Grouped(last))
		d.Path("hit", draw.Box(p.Left, p.Top+high*float64(i), p.Width, high), "")
		d.Printf("</g>")
	}
}

// shade is 0 for nothing and 1 to levels for something, by the square root, which
// keeps the small ones visible.
func shade(v, most float64) int {
	if v <= 0 || most <= 0 {
		return 0
	}
	return int(math.Ceil(levels * math.Sqrt(min(1, v/most))))
}
