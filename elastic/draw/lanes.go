package draw

import (
	"math"
	"strings"
)

// Lane is one job over time.
type Lane struct {
	Name  string // beside the lane, if there is room
	Title string // the whole lane in words
	Href  string // what the name links to; "" = nothing
	Key   int    // decides the colour; the same job has the same one in every chart
	Data  string // for scripts: the value of data-j; "" = none
	Spans []Span // in the order of time
}

// Span is a time at one size.
type Span struct {
	From, To   float64 // seconds on the axis
	GPUs       int     // 0 = the job waits
	Restarting float64 // seconds at its beginning in which the job does not train
	// Sure is how likely it is: 1 = it happened, below = a forecast, drawn the paler the less sure.
	Sure float64
	// Title says why it began; spans with a title or a Href are drawn by themselves.
	Title, Href string
}

// NameHeight is the height of a lane that a name can stand beside.
const NameHeight = 12.0

// LaneHeight makes few jobs wide lanes and many narrow ones.
func LaneHeight(lanes int) float64 {
	switch {
	case lanes <= 60:
		return 14
	case lanes <= 200:
		return 6
	}
	return 3.2
}

// Tall is a size as part of the largest, by doublings: 0 for one GPU, 1 for most.
func Tall(gpus, most int) float64 {
	if most <= 1 || gpus < 1 {
		return 1
	}
	return min(1, math.Log2(float64(gpus))/math.Log2(float64(most)))
}

// Hues is the number of colours of jobs; Style has a class for each, h0 to h23.
const Hues = 24

// Hue is the number of a job's colour; neighbours differ well.
func Hue(key int) int {
	turn := math.Mod(math.Abs(float64(key))*137.508, 360)
	return int(turn/360*Hues) % Hues
}

// Lane draws one job's lane: a thin line while it waits, a bar whose height is its size while
// it has GPUs. The panel is the lane's; end is the length of the time axis in seconds, most the
// largest size of any lane.
func (d *Pen) Lane(l Lane, p Panel, end float64, most int) {
	scale := p.Width / end
	var waits, works, restarts strings.Builder
	var alone []Span
	until := 0.0
	for _, sp := range l.Spans {
		x, right := p.Left+max(0, sp.From)*scale, p.Left+min(end, sp.To)*scale
		if right <= p.Left || x >= p.Left+p.Width {
			continue
		}
		if sp.Title != "" || sp.Href != "" || sp.Sure < 1 {
			alone = append(alone, sp)
			continue
		}
		if sp.GPUs == 0 {
			waits.WriteString(Box(x, p.Top+p.Height/2-.4, right-x, .8))
			continue
		}
		if right-until < .25 && until > 0 {
			continue // too short to be seen
		}
		x = max(x, until)
		right = max(right, x+1.2)
		y, high := sp.bar(p, most)
		works.WriteString(Box(x, y, right-x, high))
		if w := sp.Restarting * scale; w >= 1 {
			restarts.WriteString(Box(x, y, min(w, right-x), high))
		}
		until = right
	}
	data := ""
	if l.Data != "" {
		data = ` data-j="` + Escaped(l.Data) + `"`
	}
	d.Printf(`<g class="lane h%d"%s><title>%s</title>`, Hue(l.Key), data, Escaped(l.Title))
	d.Path("hit", Box(p.Left, p.Top, p.Width, p.Height), "")
	d.Path("waits", waits.String(), "")
	d.Path("works", works.String(), "")
	d.Path("restarts", restarts.String(), "")
	for _, sp := range alone {
		d.span(sp, p, scale, most)
	}
	d.Printf("</g>")
}

// bar is the place of a span's bar in its lane.
func (sp Span) bar(p Panel, most int) (y, high float64) {
	high = p.Height * .92 * (.34 + .66*Tall(sp.GPUs, most))
	return p.Top + (p.Height-high)/2, high
}

// span draws a span by itself, with its own title and link.
func (d *Pen) span(sp Span, p Panel, scale float64, most int) {
	x, right := p.Left+max(0, sp.From)*scale, min(p.Left+p.Width, p.Left+sp.To*scale)
	width := max(1.2, right-x)
	if sp.Href != "" {
		d.Printf(`<a href="%s" class="span">`, Escaped(sp.Href))
	} else {
		d.Printf(`<g class="span">`)
	}
	if sp.Title != "" {
		d.Printf(`<title>%s</title>`, Escaped(sp.Title))
	}
	y, high := p.Top+p.Height/2-.4, .8
	class := "waits"
	if sp.GPUs > 0 {
		y, high = sp.bar(p, most)
		class = "works"
	} else { // a thin line is hard to point at
		d.Path("hit", Box(x, p.Top, width, p.Height), "")
	}
	extra := ""
	if sp.Sure < 1 {
		class += " forecast"
		extra = `opacity="` + Num(.2+.6*min(1, max(0, sp.Sure))) + `"`
	}
	d.Path(class, Box(x, y, width, high), extra)
	if w := sp.Restarting * scale; sp.GPUs > 0 && w >= .8 {
		d.Path("restarts", Box(x, y, min(w, width), high), "")
	}
	if sp.Href != "" {
		d.Printf("</a>")
	} else {
		d.Printf("</g>")
	}
}
