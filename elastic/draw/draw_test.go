package draw

import (
	"encoding/xml"
	"io"
	"math"
	"regexp"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// wellFormed fails unless a drawing is XML, has a label, and contains no attribute that a page's policy
// would refuse.
func wellFormed(t interface {
	Helper()
	Errorf(string, ...any)
}, svg string) {
	t.Helper()
	d := xml.NewDecoder(strings.NewReader(svg))
	for {
		token, err := d.Token()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Errorf("%v in %.300s", err, svg)
			return
		}
		if e, ok := token.(xml.StartElement); ok {
			for _, a := range e.Attr {
				if a.Name.Local == "style" || strings.HasPrefix(a.Name.Local, "on") {
					t.Errorf("<%s %s>", e.Name.Local, a.Name.Local)
				}
			}
		}
	}
	if strings.Contains(svg, "NaN") || strings.Contains(svg, "Inf") || svg != "" && !strings.Contains(svg, "aria-label=\"") {
		t.Errorf("%.300s", svg)
	}
}

// Whatever the numbers and the names, a drawing is well formed.
func TestDrawings(t *testing.T) {
	names := rapid.SampledFrom([]string{"train", `"><script>`, "&", "\x00", strings.Repeat("x", 1000), ""})
	rapid.Check(t, func(t *rapid.T) {
		f := rapid.Float64Range(-10, 1e7)
		var lane Lane
		lane.Name, lane.Title, lane.Href, lane.Key, lane.Data = names.Draw(t, "name"), names.Draw(t, "title"), names.Draw(t, "href"), rapid.Int().Draw(t, "key"), names.Draw(t, "data")
		for range rapid.IntRange(0, 6).Draw(t, "spans") {
			lane.Spans = append(lane.Spans, Span{From: f.Draw(t, "from"), To: f.Draw(t, "to"), GPUs: rapid.IntRange(0, 99).Draw(t, "gpus"), Restarting: rapid.Float64Range(0, 99).Draw(t, "restarting"),
				Sure: rapid.Float64Range(0, 1).Draw(t, "sure"), Title: names.Draw(t, "why"), Href: names.Draw(t, "link")})
		}
		d := NewWithLinks(100, 20, "lanes", names.Draw(t, "label"))
		d.Lane(lane, Panel{0, 0, 100, 14}, rapid.Float64Range(1, 1e6).Draw(t, "end"), rapid.IntRange(0, 64).Draw(t, "most"))
		wellFormed(t, string(d.Done()))
		var points []Point
		for range rapid.IntRange(0, 5).Draw(t, "points") {
			points = append(points, Point{GPUs: rapid.Float64Range(1, 99).Draw(t, "g"), Speed: rapid.Float64Range(0, 1e9).Draw(t, "speed"), Measured: rapid.Bool().Draw(t, "measured"), Now: rapid.Bool().Draw(t, "now"), Title: names.Draw(t, "point")})
		}
		wellFormed(t, string(Speeds(points, "speeds", "steps a minute")))
		wellFormed(t, string(Squares([]GPUs{{rapid.IntRange(0, 300).Draw(t, "count"), "free", names.Draw(t, "use")}}, "node")))
		wellFormed(t, string(Bar([]GPUs{{rapid.IntRange(0, 300).Draw(t, "a"), "free", "x"}, {rapid.IntRange(0, 300).Draw(t, "b"), "other", "y"}}, "bar")))
		wellFormed(t, string(Shifts([]Shift{{names.Draw(t, "job"), names.Draw(t, "moves"), f.Draw(t, "before"), f.Draw(t, "after")}}, nil, rapid.Float64Range(0, 1e6).Draw(t, "axis"), "ends")))
		wellFormed(t, string(Levels([]Series{{"used", []float64{1, 2, f.Draw(t, "level")}}}, 4, nil, 60, 30, "levels", "GPUs")))
		v := rapid.OneOf(rapid.Float64Range(-1e3, 1e3), rapid.Float64Range(-1e308, 1e308), rapid.Just(0.))
		line := Line{Class: "w1"}
		for range rapid.IntRange(1, 5).Draw(t, "marks") {
			line.X, line.Y = append(line.X, rapid.Float64Range(1e-9, 1e6).Draw(t, "epoch")), append(line.Y, v.Draw(t, "value"))
		}
		goal := v.Draw(t, "goal")
		wellFormed(t, string(Curves([]Curve{{Class: "trial", Title: names.Draw(t, "curve"), Parts: []Line{line, line}}}, &goal, "curves", "epoch", names.Draw(t, "metric"))))
		wellFormed(t, string(Stairs([]Stair{{0, v.Draw(t, "first")}, {f.Draw(t, "when"), v.Draw(t, "second")}}, rapid.Float64Range(1, 1e6).Draw(t, "till"), nil, &goal, rapid.Bool().Draw(t, "whole"), "stairs", "level")))
		wellFormed(t, string(Dots([]Line{line}, nil, rapid.Bool().Draw(t, "log"), "dots", names.Draw(t, "parameter"), "metric")))
		wellFormed(t, string(Dots([]Line{{"dot", []float64{0, 2}, []float64{1, 2}}}, []string{names.Draw(t, "choice"), "b", "c"}, false, "dots", "x", "y")))
	})
	if Curves(nil, nil, "", "", "") != "" || Stairs(nil, 1, nil, nil, false, "", "") != "" || Dots(nil, nil, false, "", "", "") != "" {
		t.Error("nothing is drawn")
	}
	if Speeds([]Point{{GPUs: 1, Speed: math.NaN()}}, "", "") != "" {
		t.Error("a curve without a speed is drawn")
	}
}

// What happened is one path; what is expected is drawn by itself, the paler the less sure; waiting is a
// line.
func TestLane(t *testing.T) {
	d := New(100, 20, "lanes", "lanes")
	d.Lane(Lane{Name: "j", Title: "job j", Spans: []Span{{From: 0, To: 10, Sure: 1}, {From: 10, To: 30, GPUs: 1, Sure: 1, Restarting: 5}, {From: 30, To: 60, GPUs: 4, Sure: 1},
		{From: 60, To: 80, GPUs: 4, Sure: .9, Title: "likely"}, {From: 80, To: 100, GPUs: 8, Sure: .1, Title: "perhaps"}}}, Panel{0, 0, 100, 14}, 100, 8)
	svg := string(d.Done())
	if n := strings.Count(svg, "forecast"); n != 2 {
		t.Errorf("%d expected spans: %s", n, svg)
	}
	opacity := regexp.MustCompile(`opacity="([0-9.]+)"`).FindAllStringSubmatch(svg, -1)
	if len(opacity) != 2 || opacity[0][1] <= opacity[1][1] {
		t.Errorf("%v: the less sure one is not paler", opacity)
	}
	for _, want := range []string{`<path class="waits"`, `<path class="works" d="M10`, `<path class="restarts"`, "<title>likely</title>"} {
		if !strings.Contains(svg, want) {
			t.Errorf("no %s in %s", want, svg)
		}
	}
}

// Every colour that a lane can have is in the style.
func TestStyle(t *testing.T) {
	for key := range 1000 {
		if h := Hue(key); h < 0 || h >= Hues {
			t.Fatal(key, h)
		}
	}
	if Hue(math.MinInt) < 0 || !strings.Contains(Style(), ".h23 {") || strings.Contains(Style(), "url(") {
		t.Error("style")
	}
}
