package space_test

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/sluice-hpc/sluice/elastic/sweep/space"
)

// drawn is a random space as text.
func drawn(t *rapid.T) (params, wheres []string) {
	n := rapid.IntRange(1, 6).Draw(t, "parameters")
	for i := range n {
		low := rapid.Float64Range(1e-6, 10).Draw(t, "low")
		high := low + rapid.Float64Range(0, 100).Draw(t, "more")
		a := rapid.IntRange(1, 9).Draw(t, "a")
		b := a + rapid.IntRange(0, 90).Draw(t, "b")
		text := rapid.SampledFrom([]string{
			fmt.Sprintf("float:%g:%g", -low, high), fmt.Sprintf("log:%g:%g", low, high), fmt.Sprintf("float:0:%d:.25", b),
			fmt.Sprintf("int:%d:%d", -a, b), fmt.Sprintf("int:0:%d:%d", b, a), fmt.Sprintf("logint:%d:%d", a, b), "choice:x,y,z", "choice:8,16", "fixed:1",
		}).Draw(t, "domain")
		if i > 0 && strings.HasPrefix(params[0], "p0=choice:x") && rapid.Bool().Draw(t, "conditional") {
			text += " if p0=x,z"
		}
		params = append(params, fmt.Sprintf("p%d=%s", i, text))
		if strings.HasPrefix(text, "int") && rapid.Bool().Draw(t, "constrained") {
			wheres = append(wheres, fmt.Sprintf("p%d * 2 <= %d", i, b+2))
		}
	}
	return params, wheres
}

// TestPointsLieInTheirSpace: what is drawn lies in the space, and is the same after it was printed
// and read, as text, as JSON and as coordinates.
func TestPointsLieInTheirSpace(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		params, wheres := drawn(t)
		s, err := space.Parse(params, wheres)
		if err != nil {
			t.Fatal(err)
		}
		rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
		for range 20 {
			p, found := s.Random(rng)
			if !found || !s.Holds(p) {
				t.Fatalf("%v: %s", params, p)
			}
			g, err := s.Given(p.String())
			if err != nil {
				t.Fatal(err)
			}
			if again, _ := s.Complete(g, rng); again.String() != p.String() {
				t.Fatalf("%s was read as %s", p, again)
			}
			data, err := json.Marshal(p)
			if err != nil {
				t.Fatal(err)
			}
			back, err := space.ReadPoint(data)
			if err != nil || back.String() != p.String() {
				t.Fatalf("%s was read as %s: %v", data, back, err)
			}
			u, _ := s.Units(p)
			if at := s.At(u); !near(at, p) {
				t.Fatalf("%s is at %v, where %s is", p, u, at)
			}
		}
	})
}

// near compares up to the digits that a value is rounded to.
func near(a, b space.Point) bool {
	if len(a.Settings()) != len(b.Settings()) {
		return false
	}
	for i, x := range a.Settings() {
		y := b.Settings()[i]
		if x.Name != y.Name || x.Value.Text != y.Value.Text && math.Abs(x.Value.Number-y.Value.Number) > 2e-5*(math.Abs(x.Value.Number)+1e-3) {
			return false
		}
	}
	return true
}

func TestGridsAreComplete(t *testing.T) {
	s := mustParse(t, []string{"a=int:1:3", "b=choice:x,y", "c=float:0:1 if b=x", "d=fixed:7"}, "a != 2 or b == x")
	points, err := s.Grid(3)
	if err != nil {
		t.Fatal(err)
	}
	var list []string
	for _, p := range points {
		list = append(list, p.String())
	}
	if got, want := strings.Join(list, " "), "a=1,b=x,c=0,d=7 a=1,b=x,c=0.5,d=7 a=1,b=x,c=1,d=7 a=1,b=y,d=7 a=2,b=x,c=0,d=7 a=2,b=x,c=0.5,d=7 a=2,b=x,c=1,d=7 a=3,b=x,c=0,d=7 a=3,b=x,c=0.5,d=7 a=3,b=x,c=1,d=7 a=3,b=y,d=7"; got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
}

func FuzzParameter(f *testing.F) {
	for _, text := range []string{"lr=log:1e-5:1e-1", "x=float:0:1:.1", "o=choice:a,b if x=1", "s=fixed:1", "a=b:c", "=", "x=int:1:", "é=1"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		p, err := space.ParseParameter(text)
		if err != nil {
			_ = err.Error()
			return
		}
		again, err := space.ParseParameter(p.String())
		if err != nil || again.String() != p.String() {
			t.Errorf("%q is %s, read again %s: %v", text, p, again, err)
		}
	})
}

func FuzzConstraint(f *testing.F) {
	for _, text := range []string{"depth*width<4096", "not (a<b) or opt=='x'", "a % 0 == 1", "((((", "- - -a<1", "opt==x", "a<b<c", "1e999<a"} {
		f.Add(text)
	}
	params := []string{"a=int:1:10", "b=float:0:1", "opt=choice:x,y", "depth=int:1:4", "width=int:1:4 if opt=x"}
	whole := mustParse(f, params)
	f.Fuzz(func(t *testing.T, text string) {
		if len(text) > 300 {
			return
		}
		s, err := space.Parse(params, []string{text})
		if err != nil {
			_ = err.Error()
			return
		}
		rng := rand.New(rand.NewPCG(1, 1))
		p, _ := whole.Random(rng)
		if first := s.Satisfies(p); s.Satisfies(p) != first {
			t.Error(text)
		}
	})
}

func FuzzTry(f *testing.F) {
	s := mustParse(f, []string{"lr=log:1e-5:1e-1", "depth=int:2:8", "opt=choice:sgd,adamw", "m=float:.8:.99 if opt=sgd"})
	for _, text := range []string{"lr=1e-3,depth=4", "opt=sgd,m=.9", "lr==", ",", "depth=4.0"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		g, err := s.Given(text)
		if err != nil {
			_ = err.Error()
			return
		}
		if p, found := s.Complete(g, rand.New(rand.NewPCG(1, 1))); found && !s.Holds(p) {
			t.Errorf("%q became %s", text, p)
		}
	})
}

func FuzzReadPoint(f *testing.F) {
	for _, text := range []string{`{"lr":0.001,"opt":"sgd"}`, `{"a":true}`, `{"a":[1]}`, `{`, `{"a":1}x`, `{"a":1,"a":2}`, `null`} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		p, err := space.ReadPoint([]byte(text))
		if err != nil {
			return
		}
		data, err := json.Marshal(p)
		if err != nil {
			t.Fatalf("%q: %v", text, err)
		}
		if again, err := space.ReadPoint(data); err != nil || again.String() != p.String() {
			t.Errorf("%q: %s, again %s: %v", text, p, again, err)
		}
	})
}

func FuzzCheck(f *testing.F) {
	s := mustParse(f, []string{"lr=log:1e-5:1e-1", "depth=int:2:8"})
	f.Add("train --lr {lr} ${HOME} {depth}")
	f.Add("{wd}")
	f.Fuzz(func(t *testing.T, text string) {
		p, _ := s.Random(rand.New(rand.NewPCG(1, 1)))
		out, err := s.Expand([]string{text}, p)
		if (s.Check(text) == nil) != (err == nil) {
			t.Errorf("%q: %v, %v", text, out, err)
		}
	})
}
