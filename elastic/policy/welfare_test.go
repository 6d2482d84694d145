package policy_test

import (
	"reflect"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/learn/speed"
	"github.com/sluice-hpc/sluice/elastic/plan"
	"github.com/sluice-hpc/sluice/elastic/policy"
)

// typed draws clusters with two GPU types, and the measured speeds of jobs on each.
func typed(t *rapid.T) elastic.Snapshot {
	s := snapshots(t)
	for i := range s.Nodes {
		s.Nodes[i].Type = rapid.SampledFrom([]string{"a100", "t4"}).Draw(t, "type")
	}
	for i := range s.Jobs {
		var samples []speed.Sample
		for _, kind := range []string{"a100", "t4", "a100+t4"} {
			one := rapid.Float64Range(10, 100).Draw(t, "one")
			for _, g := range []int{1, 2, 4} {
				if rapid.Bool().Draw(t, "measured") {
					samples = append(samples, speed.Sample{Shape: speed.Shape{GPUs: g, Nodes: 1}, Units: 1, At: now, Kind: kind,
						Seconds: one * rapid.Float64Range(1/float64(g), 1.2).Draw(t, "relative")})
				}
			}
		}
		s.Jobs[i].Curve = speed.Fit(samples, now)
	}
	s.Expect()
	if rapid.Bool().Draw(t, "costs") {
		s.Limits.Costs = &elastic.Costs{
			Value: 1, GPU: rapid.Float64Range(0, 2).Draw(t, "gpu"), Types: map[string]float64{"a100": rapid.Float64Range(0, 2).Draw(t, "a100")},
			CPU: .01, MemoryGB: .001, Peak: rapid.Float64Range(0, 1).Draw(t, "peak"), Surcharge: 2,
		}
	}
	return s
}

// TestWelfareIsSoundOnTwoTypes: it keeps the rules that every policy keeps with one type,
// allocates no GPU twice, answers the same when asked again, and stops changing things.
func TestWelfareIsSoundOnTwoTypes(t *testing.T) {
	p, err := policy.ByName("welfare")
	if err != nil {
		t.Fatal(err)
	}
	rapid.Check(t, func(t *rapid.T) {
		first := typed(t)
		s := first
		for looks := 0; ; looks++ {
			a := p.Allocate(s)
			if !reflect.DeepEqual(a, p.Allocate(s)) {
				t.Fatal("it answers otherwise when asked again")
			}
			where := plan.Arrange(s, a)
			for _, j := range s.Jobs {
				sound(t, p.Name, s, j, a, where)
			}
			next := apply(s, a)
			within(t, p.Name, s, next)
			if unchanged(s, a) {
				return
			}
			if looks > 5 {
				t.Fatalf("still changing after %d looks\n%s", looks, dump(first))
			}
			s = next
		}
	})
}

// TestWelfareTriesTypes: a job of a model that was measured on one type only goes, if it has
// the choice, to the type that was never tried; once it was measured to be slow there, the next
// does not.
func TestWelfareTriesTypes(t *testing.T) {
	p, err := policy.ByName("welfare")
	if err != nil {
		t.Fatal(err)
	}
	one := func(kind string, seconds float64, count int) (out []speed.Sample) {
		for range count {
			out = append(out, speed.Sample{Shape: speed.Shape{GPUs: 1, Nodes: 1}, Seconds: seconds, Units: 1, At: now, Kind: kind})
		}
		return out
	}
	for _, c := range []struct {
		name    string
		samples []speed.Sample
		want    string
	}{
		{"never tried on a t4", one("a100", 10, 20), "n2"},
		{"slow on a t4", append(one("a100", 10, 20), one("t4", 30, 3)...), "n1"},
		{"hardly slower there, as far as a look shows", append(one("a100", 10, 20), one("t4", 10.5, 1)...), "n2"},
		{"hardly slower there, as many show", append(one("a100", 10, 20), one("t4", 10.5, 400)...), "n1"},
	} {
		_, s, err := parse("node n1 gpus=1 type=a100\nnode n2 gpus=1 type=t4\njob 1 min=1 max=1 total=100\n")
		if err != nil {
			t.Fatal(err)
		}
		s.Jobs[0].Curve = speed.Fit(c.samples, now.Add(time.Second))
		if d := p.Allocate(s)[1]; d.Place.On(c.want) != 1 {
			t.Errorf("%s: %v (%s), want %s", c.name, d.Place, sentence(d.Why), c.want)
		}
	}
}

// TestWelfareTriesIdleTypes: a job on one type, whose epochs were measured only there, or there
// and on a mix, goes to the idle nodes of the other type, not to a mix of both.
func TestWelfareTriesIdleTypes(t *testing.T) {
	p, err := policy.ByName("welfare")
	if err != nil {
		t.Fatal(err)
	}
	for _, epochs := range []int{1, 2, 5} {
		for _, mixed := range []bool{false, true} {
			_, s, err := parse("node n1 gpus=4 type=a100\nnode n2 gpus=4 type=a100\nnode n3 gpus=4 type=t4\nnode n4 gpus=4 type=t4\n" +
				"job 1 on=n3:4+n4:4 min=1 max=8 total=1000 price=14s ran=1h moved=1h\n")
			if err != nil {
				t.Fatal(err)
			}
			var samples []speed.Sample
			for range epochs {
				samples = append(samples, speed.Sample{Shape: speed.Shape{GPUs: 8, Nodes: 2}, Seconds: 30, Units: 1, At: now, Kind: "t4"})
			}
			if mixed {
				samples = append(samples, speed.Sample{Shape: speed.Shape{GPUs: 8, Nodes: 2}, Seconds: 30, Units: 1, At: now, Kind: "a100+t4"})
			}
			s.Jobs[0].Curve = speed.Fit(samples, now.Add(time.Second))
			if d := p.Allocate(s)[1]; d.Place.On("n1") != 4 || d.Place.On("n2") != 4 {
				t.Errorf("after %d epochs on t4, one more on a mix: %v: %v (%s)", epochs, mixed, d.Place, sentence(d.Why))
			}
		}
	}
}

// TestWelfareLearnsNothingFromMixes: a job grows onto several types at once only after each of
// them was tried alone; until then it gets its minimum there if one type has no room for it.
func TestWelfareLearnsNothingFromMixes(t *testing.T) {
	p, err := policy.ByName("welfare")
	if err != nil {
		t.Fatal(err)
	}
	const site = "node n1 gpus=2 type=t4\nnode n2 gpus=2 type=t4\nnode n3 gpus=2 type=a100\nnode n4 gpus=2 type=a100\n"
	for name, c := range map[string]struct {
		text  string
		mixed bool
	}{
		"nothing is known":         {"job 1 on=n1:1 min=1 max=8 total=100 price=14s ran=1h moved=1h\n", false},
		"one type was tried":       {"job 1 on=n1:1 min=1 max=8 total=100 price=14s ran=1h moved=1h curve.t4=90/45\n", false},
		"both are equal":           {"job 1 on=n1:1 min=1 max=8 total=1000 price=14s ran=1h moved=1h curve.t4=90/45 curve.a100=90/45\n", true},
		"one is slower":            {"job 1 on=n1:1 min=1 max=8 total=1000 price=14s ran=1h moved=1h curve.t4=90/45 curve.a100=30/15\n", false},
		"its minimum is on a mix":  {"job 1 min=6 max=8 total=100\n", true},
		"it starts, tried nowhere": {"job 1 min=1 max=8 total=100\n", false},
	} {
		_, s, err := parse(site + c.text)
		if err != nil {
			t.Fatal(err)
		}
		d := p.Allocate(s)[1]
		mixed := d.Place.On("n1")+d.Place.On("n2") > 0 && d.Place.On("n3")+d.Place.On("n4") > 0
		if d.GPUs == 0 || mixed != c.mixed {
			t.Errorf("%s: %v (%s), a mix: want %v", name, d.Place, sentence(d.Why), c.mixed)
		}
	}
}

// TestNoCurrencyBreaksRules: in a currency of small units, and if nothing has value, decisions
// are the same, and a pin is kept.
func TestNoCurrencyBreaksRules(t *testing.T) {
	p, err := policy.ByName("welfare")
	if err != nil {
		t.Fatal(err)
	}
	rapid.Check(t, func(t *rapid.T) {
		s := typed(t)
		c := elastic.Costs{Value: 1, GPU: rapid.Float64Range(0, 2).Draw(t, "gpu"), Types: map[string]float64{"a100": .5}}
		s.Limits.Costs = &c
		small := p.Allocate(s)
		by := 1024. // no rounding
		s.Limits.Costs = &elastic.Costs{Value: by, GPU: by * c.GPU, Types: map[string]float64{"a100": by * .5}}
		if many := p.Allocate(s); !reflect.DeepEqual(small, many) {
			t.Fatalf("%v, and in small units %v", small, many)
		}
		s.Limits.Costs = &elastic.Costs{GPU: 1e6}
		a := p.Allocate(s)
		where := plan.Arrange(s, a)
		for _, j := range s.Jobs {
			sound(t, p.Name, s, j, a, where)
		}
	})
}

// TestWelfareSwapsNoEquals: where jobs may be stopped, a waiting job is worth no more than an
// equal one that runs, also if it could use several GPU types of which one is free. Before, a
// place on one node was also offered as one on several types, with their bonus for being
// untried: the two jobs took turns in every round.
func TestWelfareSwapsNoEquals(t *testing.T) {
	p, first, err := parse(`policy welfare
limits preempt payback=2
node n1 gpus=4 foreign=4 type=a100
node n2 gpus=2 type=t4
job 1 on=n2:2 min=2 max=2 total=100 curve.t4=100/52
job 2 min=2 max=2 total=100 curve.t4=100/52
`)
	if err != nil {
		t.Fatal(err)
	}
	for s, looks := first, 0; looks < 4; looks++ {
		a := p.Allocate(s)
		if !unchanged(s, a) {
			t.Fatalf("look %d:\n%s", looks, render(s, a))
		}
		s = stopped(apply(s, a), a)
	}
}
