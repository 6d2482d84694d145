package report

import (
	"fmt"
	"html/template"
	"math"
	"strconv"
	"strings"
	"time"
)

// lanesChart draws GPUs over time, a lane a job or a lane a group of jobs.
func lanesChart(t *Track, s courseScale, policy, class string) template.HTML {
	if len(t.lanes) == 0 {
		return ""
	}
	high := laneHeight(len(t.lanes))
	p := panel{s.left, 6, courseWidth - s.left - courseRight, high * float64(len(t.lanes))}
	label := "GPUs of each job over time under " + policy
	d := newDrawing(courseWidth, p.top+p.height+22, "chart lanes", label)
	d.timeAxis(p, timeTicks(s.end, 14), s.end.Seconds(), true)
	d.laneMarks(t, p, high)
	if t.lanes[0].group != nil {
		d.groups(t, s, p, high, class)
		return d.done()
	}
	for i := range t.lanes {
		d.job(i, &t.lanes[i], s, panel{p.left, p.top + high*float64(i), p.width, high})
	}
	return d.done()
}

// nameHeight is the height of a lane that a name can stand beside.
const nameHeight = 12.0

// laneHeight makes few jobs wide lanes and many narrow ones.
func laneHeight(lanes int) float64 {
	switch {
	case lanes <= 60:
		return 14
	case lanes <= 200:
		return 6
	}
	return 3.2
}

// laneMarks names the lanes, or counts them where there is no room for names.
func (d *drawing) laneMarks(t *Track, p panel, high float64) {
	per := float64(t.jobs) / float64(len(t.lanes))
	every := 1
	for float64(every)*high < 40 {
		every = int(nice(float64(every) + 1))
	}
	for i := range t.lanes {
		y := p.top + high*(float64(i)+.5)
		switch {
		case high >= nameHeight:
			d.text(p.left-6, y+3.5, "end", "tick", shortened(t.lanes[i].name, 20))
		case (i+1)%every == 0 || i == 0:
			d.text(p.left-6, y+3.5, "end", "tick", grouped(int(float64(i)*per)+1))
		}
	}
}

// job draws one job's lane: a thin line while it waits, a bar whose height is its
// size while it has GPUs.
func (d *drawing) job(i int, l *lane, s courseScale, p panel) {
	scale := p.width / s.end.Seconds()
	var waits, works, restarts strings.Builder
	until := 0.0
	for _, sp := range l.spans {
		x, right := p.left+sp.from.Seconds()*scale, p.left+sp.to.Seconds()*scale
		if sp.gpus == 0 {
			waits.WriteString(box(x, p.top+p.height/2-.4, right-x, .8))
			continue
		}
		if right-until < .25 && until > 0 {
			continue // too short to be seen
		}
		x = max(x, until)
		right = max(right, x+1.2)
		high := p.height * .92 * (.34 + .66*tall(sp.gpus, s.most))
		y := p.top + (p.height-high)/2
		works.WriteString(box(x, y, right-x, high))
		if w := sp.restarting.Seconds() * scale; w >= 1 {
			restarts.WriteString(box(x, y, min(w, right-x), high))
		}
		until = right
	}
	d.printf(`<g class="lane" style="--h:%d" data-j="%d"><title>%s</title>`, hue(i), i, escaped(l.story(i)))
	d.path("hit", box(p.left, p.top, p.width, p.height), "")
	d.path("waits", waits.String(), "")
	d.path("works", works.String(), "")
	d.path("restarts", restarts.String(), "")
	d.b.WriteString("</g>")
}

// tall is a size as part of the largest, by doublings: 0 for one GPU, 1 for most.
func tall(gpus, most int) float64 {
	if most <= 1 {
		return 1
	}
	return math.Log2(float64(gpus)) / math.Log2(float64(most))
}

// hue is a job's colour, the same in every chart; neighbours differ well.
func hue(i int) int { return int(math.Mod(float64(i)*137.508, 360)) }

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
		lasting(l.submit), lasting(wait), lasting(worked), strings.Join(sizes, " → "), count(max(0, l.moves-1), "restart"))
}

// groupCells is how many steps of time a lane of several jobs shows.
const groupCells = 180

// levels are the shades of lanes of several jobs.
const levels = 8

// groups draws lanes of several jobs: the darker, the more GPUs.
func (d *drawing) groups(t *Track, s courseScale, p panel, high float64, class string) {
	cells := make([][]float64, len(t.lanes))
	most := 0.0
	for i, l := range t.lanes {
		cells[i] = l.group.means(s.end, groupCells)
		for _, v := range cells[i] {
			most = max(most, v)
		}
	}
	var shades [levels + 1]strings.Builder
	step := p.width / groupCells
	for i, lane := range cells {
		for from := 0; from < groupCells; {
			level, to := shade(lane[from], most), from+1
			for to < groupCells && shade(lane[to], most) == level {
				to++
			}
			if level > 0 {
				shades[level].WriteString(box(p.left+step*float64(from), p.top+high*float64(i), step*float64(to-from), high))
			}
			from = to
		}
	}
	for level := range shades {
		d.path("shade "+class, shades[level].String(), fmt.Sprintf(`style="opacity:%.2f"`, .12+.88*float64(level)/levels))
	}
	for i := range t.lanes {
		first, last := (i*t.jobs+len(t.lanes)-1)/len(t.lanes)+1, ((i+1)*t.jobs+len(t.lanes)-1)/len(t.lanes)
		d.printf(`<g class="lane"><title>jobs %s to %s</title>`, grouped(first), grouped(last))
		d.path("hit", box(p.left, p.top+high*float64(i), p.width, high), "")
		d.b.WriteString("</g>")
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

// shortened cuts a name in the middle to so many characters.
func shortened(s string, n int) string {
	r := []rune(s)
	if len(r) <= n {
		return s
	}
	half := (n - 1) / 2
	return string(r[:n-1-half]) + "…" + string(r[len(r)-half:])
}
