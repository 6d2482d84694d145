package main

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"errors"
	"image/png"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sluice-hpc/sluice/elastic/learn/speed"
)

const sample = `{"version":1,"script":"train.sh","model":"resnet50","of":"step","points":[{"gpus":1,"nodes":1,"seconds":0.4,"spread_seconds":0.01},
{"gpus":4,"nodes":1,"error":"job 3 failed"},{"gpus":2,"nodes":1,"seconds":0.21,"spread_seconds":0.004},{"gpus":8,"nodes":2,"seconds":0.085}],"notes":["GPU time is emulated: 0.4 s"]}`

// TestPNG: the picture is one, of a decent size, and not of one colour.
func TestPNG(t *testing.T) {
	file := filepath.Join(t.TempDir(), "curve.png")
	var errs bytes.Buffer
	if code := run([]string{"-o", file}, strings.NewReader(sample), &errs); code != 0 {
		t.Fatal(errs.String())
	}
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	picture, err := png.Decode(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	b, colours := picture.Bounds(), map[[3]uint32]bool{}
	for y := b.Min.Y; y < b.Max.Y; y++ {
		for x := b.Min.X; x < b.Max.X; x++ {
			r, g, b, _ := picture.At(x, y).RGBA()
			colours[[3]uint32{r >> 8, g >> 8, b >> 8}] = true
		}
	}
	for _, c := range []struct{ r, g, b uint8 }{{blue.R, blue.G, blue.B}, {pale.R, pale.G, pale.B}, {grey.R, grey.G, grey.B}} {
		if !colours[[3]uint32{uint32(c.r), uint32(c.g), uint32(c.b)}] {
			t.Errorf("nothing is drawn in %v", c)
		}
	}
	if b.Dx() < 800 || b.Dy() < 500 {
		t.Errorf("%v", b)
	}
}

// TestSVG: what the plot says is in it as text.
func TestSVG(t *testing.T) {
	file := filepath.Join(t.TempDir(), "curve.SVG")
	var errs bytes.Buffer
	if code := run([]string{"-o", file}, strings.NewReader(sample), &errs); code != 0 {
		t.Fatal(errs.String())
	}
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"resnet50, 1 to 2 nodes (GPU time emulated)", "GPUs", "steps a second", "measured", "fitted", "ideal", ">8<"} {
		if !strings.Contains(string(data), want) {
			t.Errorf("%q is not in it", want)
		}
	}
	for d := xml.NewDecoder(bytes.NewReader(data)); ; {
		if _, err := d.Token(); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
	}
}

// TestForms: with forms, what each says is drawn instead of the curve; those without a point
// that can be drawn are left out.
func TestForms(t *testing.T) {
	file := filepath.Join(t.TempDir(), "forms.svg")
	with := strings.Replace(sample, `"notes"`, `"forms":[{"name":"curve, off by 9%","points":[{"gpus":1,"seconds":0.4},{"gpus":8,"seconds":0.1}]},
{"name":"network","used":true,"points":[{"gpus":1,"seconds":0.4},{"gpus":16,"seconds":0.05},{"gpus":4,"seconds":-1}]},{"name":"nothing","points":[{"gpus":0}]}],"notes"`, 1)
	var errs bytes.Buffer
	if code := run([]string{"-o", file}, strings.NewReader(with), &errs); code != 0 {
		t.Fatal(errs.String())
	}
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for want, is := range map[string]bool{"curve, off by 9%": true, "network": true, ">16<": true, "nothing": false, "fitted": false} {
		if strings.Contains(string(data), want) != is {
			t.Errorf("%q in it: %v", want, !is)
		}
	}
}

func TestWhatIsWrong(t *testing.T) {
	dir := t.TempDir()
	old := filepath.Join(dir, "old.png")
	if err := os.WriteFile(old, []byte("old"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		args, in, want string
		code           int
	}{
		{"", sample, "Usage:", 2},
		{"-x", sample, "not defined", 2},
		{"-h", sample, "Usage:", 0},
		{"-o " + old + " more", sample, "Usage:", 2},
		{"-o " + dir + "/a.pdf", sample, "ends in .png or .svg", 1},
		{"-o " + dir + "/no/such/a.png", sample, "no such file", 1},
		{"-o " + old, "{", "not what 'sluice profile --json' prints", 1},
		{"-o " + old, `{"version":9}`, "has version 9", 1},
		{"-o " + old, `{"points":[{"gpus":4}]}`, "no size was measured", 1},
		{"-o " + old, strings.Repeat(" ", maxInput+1), "more than", 1},
	} {
		var errs bytes.Buffer
		if code := run(strings.Fields(c.args), strings.NewReader(c.in), &errs); code != c.code || !strings.Contains(errs.String(), c.want) {
			t.Errorf("%s: %d: %s", c.args, code, errs.String())
		}
	}
	if data, _ := os.ReadFile(old); string(data) != "old" {
		t.Error("the file that was there is gone")
	}
	if names, _ := os.ReadDir(dir); len(names) != 1 {
		t.Errorf("left behind: %v", names)
	}
}

// FuzzDraw: any input is refused or drawn.
func FuzzDraw(f *testing.F) {
	f.Add([]byte(sample))
	f.Add([]byte(`{"points":[{"gpus":1000000,"seconds":1e-8},{"gpus":1,"seconds":1e8}]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		p, err := read(bytes.NewReader(data))
		if err != nil {
			return
		}
		if _, err := figure(p); err != nil {
			again, _ := json.Marshal(p)
			t.Fatalf("%s: %v", again, err)
		}
	})
}

// TestRounds: marks are few, ascend and stay within.
func TestRounds(t *testing.T) {
	for _, most := range []float64{1e-8, 0.3, 1, 9.99, 10, 12345, 1e8} {
		ticks := rounds(most)
		if len(ticks) < 3 || len(ticks) > 8 || ticks[len(ticks)-1].Value > most*1.01 {
			t.Errorf("%g: %v", most, ticks)
		}
	}
}

func TestTitle(t *testing.T) {
	p := speed.Profile{Script: "a\x00b.sh", Points: []speed.Point{{GPUs: 1, Nodes: 2}}}
	if got := title(p); got != "ab.sh, 2 nodes" {
		t.Errorf("%q", got)
	}
}

// TestHelpFits: the help is no wider than a terminal of 80 columns.
func TestHelpFits(t *testing.T) {
	var errs bytes.Buffer
	if code := run([]string{"--help"}, nil, &errs); code != 0 || errs.Len() == 0 {
		t.Fatalf("%d: %s", code, errs.String())
	}
	for line := range strings.SplitSeq(errs.String(), "\n") {
		if len(line) > 80 {
			t.Errorf("%d columns: %s", len(line), line)
		}
	}
}
