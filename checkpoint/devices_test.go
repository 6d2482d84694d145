package checkpoint

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/sluice-hpc/sluice/nodes"
)

func exampleDevices() Devices {
	return Devices{Node: "gpu1", At: noon, GPUs: []nodes.Device{
		{Index: 0, UUID: "GPU-0000-1", Name: "A100", Utilisation: 0.5, MemoryUsed: 1 << 30, Memory: 4 << 30, Watts: 312.5},
		{Index: 1, UUID: "GPU-0000-2", Utilisation: -1, Uncorrected: 3, XIDs: []int{13, 79}, Unfit: "XID 79: fallen off the bus"},
		{Index: 2, UUID: "MIG-GPU-1/2/0", MIG: true, Utilisation: -1},
	}}
}

func TestDevicesRoundTrip(t *testing.T) {
	got, err := ParseDevices(encode(t, exampleDevices()))
	if err != nil || !reflect.DeepEqual(got, exampleDevices()) {
		t.Errorf("got %+v, %v", got, err)
	}
	r := exampleRunner()
	r.Devices = []Devices{exampleDevices()}
	back, err := ParseRunner(encode(t, r))
	if err != nil || !reflect.DeepEqual(back, r) {
		t.Errorf("in the runner's word: %+v, %v", back, err)
	}
}

func TestDevicesRefused(t *testing.T) {
	for want, change := range map[string]func(*Devices){
		"not a node's name":   func(d *Devices) { d.Node = "../gpu1" },
		"from 1970":           func(d *Devices) { d.At = d.At.AddDate(-1000, 0, 0) },
		"index":               func(d *Devices) { d.GPUs[0].Index = -1 },
		"uuid":                func(d *Devices) { d.GPUs[0].UUID = "GPU 1" },
		"utilisation: 1.01":   func(d *Devices) { d.GPUs[0].Utilisation = 1.01 },
		"utilisation: -2":     func(d *Devices) { d.GPUs[0].Utilisation = -2 },
		"memory":              func(d *Devices) { d.GPUs[0].Memory = -1 },
		"memory_used":         func(d *Devices) { d.GPUs[0].MemoryUsed = 1 << 60 },
		"watts":               func(d *Devices) { d.GPUs[0].Watts = 1e9 },
		"xids: 17: at most":   func(d *Devices) { d.GPUs[0].XIDs = make([]int, 17) },
		"xids: -5":            func(d *Devices) { d.GPUs[0].XIDs = []int{-5} },
		"513 on gpu1: at mos": func(d *Devices) { d.GPUs = make([]nodes.Device, 513) },
	} {
		d := exampleDevices()
		change(&d)
		if _, err := ParseDevices(encode(t, d)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", want, err)
		}
		r := exampleRunner()
		r.Devices = []Devices{d}
		if _, err := ParseRunner(encode(t, r)); err == nil {
			t.Errorf("%q: in the runner's word it passed", want)
		}
	}
	twice := exampleRunner()
	twice.Devices = []Devices{exampleDevices(), exampleDevices()}
	if _, err := ParseRunner(encode(t, twice)); err == nil || !strings.Contains(err.Error(), "gpu1 twice") {
		t.Errorf("twice: %v", err)
	}
}

func TestDevicesTextsAreCleaned(t *testing.T) {
	d := exampleDevices()
	d.GPUs[0].Name, d.GPUs[0].Unfit = "A\x1b[31m", strings.Repeat("ä\n", 500)
	got, err := ParseDevices(encode(t, d))
	if err != nil || strings.ContainsAny(got.GPUs[0].Name+got.GPUs[0].Unfit, "\x1b\n") || len(got.GPUs[0].Unfit) > maxUnfit {
		t.Errorf("%+v, %v", got.GPUs[0], err)
	}
}

// TestFitting: however many GPUs there are, the runner's note stays readable, and every
// unfit GPU is in it.
func TestFitting(t *testing.T) {
	var all []Devices
	for n := range 128 {
		d := Devices{Node: fmt.Sprintf("node%03d", n), At: noon}
		for i := range 8 {
			d.GPUs = append(d.GPUs, nodes.Device{Index: i, UUID: "GPU-" + strings.Repeat("f", 36), Name: strings.Repeat("N", 100),
				Utilisation: 1.0 / 3, MemoryUsed: 1 << 40, Memory: 1 << 40, Watts: 700.123})
		}
		all = append(all, d)
	}
	all[127].GPUs[7].Unfit = strings.Repeat("u", maxUnfit)
	r := exampleRunner()
	r.Devices = Fitting(all)
	if data := encode(t, r); len(data) > maxSmallFile*5/8 {
		t.Errorf("%d bytes", len(data))
	} else if _, err := ParseRunner(data); err != nil {
		t.Error(err)
	}
	last := r.Devices[len(r.Devices)-1]
	if last.Node != "node127" || last.GPUs[0].Unfit == "" || last.GPUs[0].Key() != all[127].GPUs[7].Key() {
		t.Errorf("the unfit GPU is lost: %+v", last)
	}
	few := all[:2]
	if !reflect.DeepEqual(Fitting(few), few) {
		t.Error("a few are told less of than there is")
	}
	for _, d := range all {
		for i := range d.GPUs {
			d.GPUs[i].Unfit = strings.Repeat("u", maxUnfit)
		}
	}
	r.Devices = Fitting(all)
	if data := encode(t, r); len(data) > maxSmallFile*5/8 {
		t.Errorf("all unfit: %d bytes", len(data))
	}
}

func TestUtilisationOfAll(t *testing.T) {
	gpu := func(u float64) nodes.Device { return nodes.Device{Utilisation: u} }
	for _, c := range []struct {
		all  []Devices
		want float64
		ok   bool
	}{
		{nil, 0, false},
		{[]Devices{{Node: "a"}}, 0, false},
		{[]Devices{{GPUs: []nodes.Device{gpu(0.5)}}, {GPUs: []nodes.Device{gpu(0.1), gpu(0)}}}, 0.2, true},
		{[]Devices{{GPUs: []nodes.Device{gpu(0.5), gpu(-1)}}}, 0, false},
	} {
		got, ok := Utilisation(c.all)
		if ok != c.ok || got < c.want-1e-9 || got > c.want+1e-9 {
			t.Errorf("%+v: %v %v", c.all, got, ok)
		}
	}
	if !Sliced([]Devices{exampleDevices()}) || Sliced([]Devices{{GPUs: []nodes.Device{gpu(1)}}}) {
		t.Error("slices are not told from GPUs")
	}
}

func FuzzDevices(f *testing.F) { fuzz(f, "devices", exampleDevices(), ParseDevices) }
