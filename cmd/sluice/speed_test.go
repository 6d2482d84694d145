package main

import (
	"slices"
	"strings"
	"testing"

	"github.com/sluice-hpc/sluice/elastic/control/wire"
)

func timedAt(gpus, nodes int, says ...float64) wire.SpeedShape {
	return wire.SpeedShape{GPUs: gpus, Nodes: nodes, Split: []int{gpus}, Seconds: says[0], Source: "measured", Says: says}
}

// TestDrawnSpeeds: every measurement is a point; of each size a form's line has what it
// says on the fewest nodes, in order of size.
func TestDrawnSpeeds(t *testing.T) {
	off := 0.034
	p := drawnSpeeds(wire.Speeds{
		Model: "m", Unit: "step", Forms: []wire.SpeedForm{{Name: "curve", Within: &off}, {Name: "network", UsedBeyond: true}},
		Measured:  []wire.SpeedShape{timedAt(4, 2, 5, 50), timedAt(1, 1, 9, 90), timedAt(4, 1, 4, 40)},
		Predicted: []wire.SpeedShape{timedAt(2, 1, 6, 0)},
	})
	if len(p.Points) != 3 || len(p.Forms) != 2 || p.Forms[0].Name != "curve, off by 3.4%" || p.Forms[0].Used || !p.Forms[1].Used {
		t.Fatalf("%+v", p)
	}
	for i, want := range [][]float64{{9, 6, 4}, {90, 40}} {
		var got []float64
		for _, pt := range p.Forms[i].Points {
			got = append(got, pt.Seconds)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", p.Forms[i].Name, got, want)
		}
	}
}

// TestBelievedLines says why, in each case there is.
func TestBelievedLines(t *testing.T) {
	a, b := 0.1, 0.2
	for want, s := range map[string]wire.Speeds{
		"by the curve: others are compared with it from 6 shapes on": {Enough: 6},
		"between sizes measured by the network, off by 10.0% where the curve is off by 20.0%": {Forms: []wire.SpeedForm{
			{Name: "curve", Within: &b, UsedBeyond: true}, {Name: "network", Within: &a, UsedWithin: true}}},
		"beyond them by the curve: too few sizes to hold some out": {Forms: []wire.SpeedForm{{Name: "curve", Within: &a, UsedWithin: true, UsedBeyond: true}}},
		"between sizes measured by the curve, off by 10.0%: no other is clearly better": {Forms: []wire.SpeedForm{
			{Name: "curve", Within: &a, UsedWithin: true}, {Name: "network", Within: &b, UsedBeyond: true}}},
	} {
		if got := believedLines(s); !strings.Contains(got, want) {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func TestSplitInWords(t *testing.T) {
	for want, split := range map[string][]int{"4": {4}, "4+2": {4, 2}, "8+8": {8, 8}, "4x3": {4, 4, 4}, "4+4+1": {4, 4, 1}} {
		if got := splitWords(split); got != want {
			t.Errorf("%v: %q, want %q", split, got, want)
		}
	}
}
