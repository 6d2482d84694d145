package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/sluice-hpc/sluice/checkpoint"
	"github.com/sluice-hpc/sluice/checkpoint/runner"
	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/control/wire"
	"github.com/sluice-hpc/sluice/elastic/learn/speed"
	"github.com/sluice-hpc/sluice/sbatch"
)

// TestProfileArgs: the profile's own options stand before the script or right
// behind it; all else is submit's, and the script's.
func TestProfileArgs(t *testing.T) {
	usual := func(change func(*profileOptions)) profileOptions {
		o := profileOptions{measure: runner.Profile{Warmup: 5, Steps: 20, Limit: 10 * time.Minute}, wait: 10 * time.Minute}
		change(&o)
		return o
	}
	for _, c := range []struct {
		args, rest string
		want       profileOptions
	}{
		{"train.sh --sizes 1,2,4", "train.sh", usual(func(o *profileOptions) { o.sizes = []int{1, 2, 4} })},
		{"train.sh --sizes=4,1,1 -o c.png", "train.sh", usual(func(o *profileOptions) { o.sizes, o.output = []int{1, 4}, "c.png" })},
		{"-oc.svg -p gpu --sizes 1 train.sh", "-p gpu train.sh", usual(func(o *profileOptions) { o.sizes, o.output = []int{1}, "c.svg" })},
		{"--sizes 1,2 train.sh --lr 0.1 --steps 9", "train.sh --lr 0.1 --steps 9", usual(func(o *profileOptions) { o.sizes = []int{1, 2} })},
		{"train.sh --sizes 1,2 --sequential -- --sizes 3", "train.sh --sizes 3",
			usual(func(o *profileOptions) { o.sizes, o.sequential = []int{1, 2}, true })},
		{"--steps=7 --warmup 0 --limit=90s --wait 1:00:00 train.sh --json", "train.sh", usual(func(o *profileOptions) {
			o.measure, o.wait, o.form = runner.Profile{Steps: 7, Limit: 90 * time.Second}, time.Hour, "json"
		})},
		{"--csv --sizes 2 -J name --model=m train.sh a b", "-J name --model=m train.sh a b",
			usual(func(o *profileOptions) { o.sizes, o.form = []int{2}, "csv" })},
		{"--sizes 2 -- train.sh --sizes 3", "-- train.sh --sizes 3", usual(func(o *profileOptions) { o.sizes = []int{2} })},
		{"train.sh", "train.sh", usual(func(*profileOptions) {})},
	} {
		got, rest, err := profileArgs(strings.Fields(c.args))
		if err != nil || !reflect.DeepEqual(got, c.want) || strings.Join(rest, " ") != c.rest {
			t.Errorf("%s:\ngot  %+v %q (%v)\nwant %+v %q", c.args, got, rest, err, c.want, c.rest)
		}
	}
}

// FuzzProfileArgs: any words are either refused or taken apart within bounds.
func FuzzProfileArgs(f *testing.F) {
	for _, seed := range []string{"train.sh --sizes 1,2,4", "--steps=7 -- x", "-o", "-ocurve.png\x00a", "--limit 1-0 --sizes=9,", "-p -o x.png", "--wrap x --sizes 1"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, line string) {
		words := strings.Fields(line)
		o, rest, err := profileArgs(words)
		if err != nil {
			return
		}
		if len(rest) > len(words) || o.measure.Steps < 1 || o.measure.Limit < time.Second || len(o.sizes) > elastic.MaxProfile {
			t.Fatalf("%q: %+v %q", words, o, rest)
		}
		for i, n := range o.sizes {
			if n < 1 || i > 0 && n <= o.sizes[i-1] {
				t.Fatalf("%q: sizes %v", words, o.sizes)
			}
		}
	})
}

func sampleProfile() speed.Profile {
	p := speed.Profile{Version: 1, Script: "train.sh", Model: "resnet50", Of: "step", Points: []speed.Point{
		{GPUs: 1, Nodes: 1, Job: 11}, {GPUs: 2, Nodes: 1, Job: 12}, {GPUs: 4, Job: 13, Error: "job 13 failed (FAILED, exit code 3) before it reported a step"}, {GPUs: 8, Nodes: 2, Job: 14},
	}, Notes: []string{"GPU time is emulated"}}
	p.Points[0].Measure([]float64{0.4, 0.41, 0.39}, []float64{4, 4, 4})
	p.Points[1].Measure([]float64{0.22, 0.22}, []float64{10, 10})
	p.Points[3].Measure([]float64{0.1}, []float64{20})
	p.Compare()
	return p
}

// TestProfilePrinted shows the three forms; the golden files are the specification.
func TestProfilePrinted(t *testing.T) {
	for name, environ := range map[string][]string{"profile.table": {"LANG=C"}, "profile.unicode": {"LC_ALL=", "LANG=de_DE.UTF-8"}, "profile.csv": nil, "profile.json": nil} {
		var out bytes.Buffer
		p := profiling{out: &out, environ: environ}
		if form := filepath.Ext(name)[1:]; form == "csv" || form == "json" {
			p.options.form = form
		}
		if err := p.print(sampleProfile()); err != nil {
			t.Fatal(err)
		}
		path := filepath.Join("testdata", "profile", name)
		if *update {
			if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, out.Bytes(), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(path)
		if err != nil || out.String() != string(want) {
			t.Errorf("%s: %v\ngot\n%s\nwant\n%s", name, err, out.String(), want)
		}
		if p.options.form == "json" {
			var back speed.Profile
			if err := json.Unmarshal(out.Bytes(), &back); err != nil || !reflect.DeepEqual(back, sampleProfile()) {
				t.Errorf("read back (%v): %+v", err, back)
			}
		}
	}
}

// TestProfilePlotIsSane: whatever was measured, there is no panic and no line is
// wider than the canvas.
func TestProfilePlotIsSane(t *testing.T) {
	for _, gpus := range [][]int{{1, 2}, {1, 1000}, {7, 8, 9}, {64, 128, 4096}, {3, 100_000}} {
		for _, seconds := range []float64{1e-6, 1, 1e6} {
			p := speed.Profile{Of: "step"}
			for i, g := range gpus {
				p.Points = append(p.Points, speed.Point{GPUs: g, Nodes: 1 + i, Seconds: seconds / float64(i+1)})
			}
			for _, line := range strings.Split(profilePlot(p, false), "\n") {
				if len(line) > plotWidth+8+9 {
					t.Errorf("%v: %q", gpus, line)
				}
			}
		}
	}
	if profilePlot(speed.Profile{Points: []speed.Point{{GPUs: 1, Seconds: 1}, {GPUs: 2}}}, true) != "" {
		t.Error("a plot of one point")
	}
}

// TestIdleForProfile: a profile takes what is idle, and nothing while others wait.
func TestIdleForProfile(t *testing.T) {
	nodes := []wire.Node{{Name: "n1", Partitions: []string{"gpu"}, GPUs: 4, Free: 3, Usable: true}, {Name: "n2", Partitions: []string{"fast"}, GPUs: 8, Free: 8, Usable: true},
		{Name: "n3", Partitions: []string{"gpu"}, GPUs: 4, Free: 4}}
	for _, c := range []struct {
		name   string
		report wire.Report
		asked  []string
		want   int
	}{
		{"all partitions", wire.Report{Nodes: nodes}, nil, 11},
		{"one partition", wire.Report{Nodes: nodes}, []string{"gpu"}, 3},
		{"an ordinary job waits", wire.Report{Nodes: nodes, Demands: []wire.Demand{{JobID: 1, GPUs: 1}}}, nil, 0},
		{"one waits that would share a node", wire.Report{Nodes: nodes, Demands: []wire.Demand{{JobID: 1, Partition: "fast,gpu", GPUs: 1}}}, []string{"gpu"}, 0},
		{"one waits elsewhere", wire.Report{Nodes: nodes, Demands: []wire.Demand{{JobID: 1, Partition: "fast", GPUs: 1}}}, []string{"gpu"}, 3},
		{"an elastic job waits elsewhere", wire.Report{Nodes: nodes, Jobs: []wire.Job{{JobID: 1, Partition: "fast"}}}, []string{"gpu"}, 3},
		{"an elastic job waits", wire.Report{Nodes: nodes, Jobs: []wire.Job{{JobID: 1}}}, nil, 0},
		{"one waits for a promise it cannot have", wire.Report{Nodes: nodes, Jobs: []wire.Job{{JobID: 1, Deadline: time.Unix(2e9, 0), Ends: time.Unix(3e9, 0)}}}, nil, 11},
		{"one waits for its time", wire.Report{Nodes: nodes, Jobs: []wire.Job{{JobID: 1, Deadline: time.Unix(2e9, 0), Ends: time.Unix(1e9, 0), Promised: true}}}, nil, 0},
		{"one is held by its user", wire.Report{Nodes: nodes, Jobs: []wire.Job{{JobID: 1, OnHold: true}, {JobID: 2, Ended: true}}}, nil, 11},
		{"a run of its own is about to start", wire.Report{Nodes: nodes, Jobs: []wire.Job{{JobID: 77}}}, nil, 9},
		{"Slurm is not seen", wire.Report{Nodes: nodes, Blind: "slurmctld is down"}, nil, 0},
	} {
		p := profiling{base: submission{request: sbatch.Request{Partitions: c.asked}}}
		if strings.HasPrefix(c.name, "a run") {
			p.sizes = []*profiledSize{{p: &p, stage: submitted, point: speed.Point{GPUs: 2, Job: 77}}}
		}
		if got := p.idle(c.report); got != c.want {
			t.Errorf("%s: %d, want %d", c.name, got, c.want)
		}
	}
}

// TestWhoComesFirst: what a size waits for is named, and nodes that are down count
// among those there are.
func TestWhoComesFirst(t *testing.T) {
	r := wire.Report{Nodes: []wire.Node{{Partitions: []string{"gpu"}, GPUs: 4, Free: 4}, {Partitions: []string{"fast"}, GPUs: 8, Usable: true}},
		Demands: []wire.Demand{{JobID: 1, Partition: "fast"}}, Jobs: []wire.Job{{JobID: 2, Partition: "gpu"}}}
	p := profiling{base: submission{request: sbatch.Request{Partitions: []string{"gpu"}}}}
	if got := p.why(r, 0); got != "job 2 waits for GPUs, and comes first" {
		t.Error(got)
	}
	if got := p.most(r); got != 4 {
		t.Errorf("%d GPUs, want 4", got)
	}
	p.base.request.Partitions = nil
	if got := p.why(r, 0); got != "ordinary job 1 waits for GPUs, and comes first" {
		t.Error(got)
	}
}

// TestProfileComparesLike: steps are not compared with epochs.
func TestProfileComparesLike(t *testing.T) {
	measured := func(lines ...checkpoint.Progress) checkpoint.Measurement {
		var m checkpoint.Measurement
		for _, line := range lines {
			m.Add(line)
		}
		return m
	}
	pace := checkpoint.Progress{Event: "pace", Pace: 0.5, Steps: 4}
	epoch := checkpoint.Progress{Event: "progress", Seconds: 60}
	p := profiling{script: "train.sh"}
	p.sizes = []*profiledSize{
		{p: &p, point: speed.Point{GPUs: 1}, log: measured(pace, epoch)},
		{p: &p, point: speed.Point{GPUs: 2}, log: measured(epoch)},
		{p: &p, point: speed.Point{GPUs: 4}, log: measured(pace)},
	}
	got := p.result()
	if got.Of != "epoch" || got.Points[0].Seconds != 60 || got.Points[1].Seconds != 60 || got.Points[2].Error == "" {
		t.Errorf("%+v", got)
	}
	p.sizes = p.sizes[:1]
	if got := p.result(); got.Of != "step" || got.Points[0].Seconds != 0.5 {
		t.Errorf("%+v", got)
	}
}

func TestLastWords(t *testing.T) {
	banner := runner.Banner{Job: 5, Words: []string{"1 GPU"}, At: time.Unix(0, 0)}.String()
	if _, ok := runner.ParseBanner(banner); !ok {
		t.Fatalf("%q is no banner", banner)
	}
	s := profiledSize{folder: t.TempDir()}
	for output, want := range map[string]string{
		"":                                   "",
		"\n\n":                               "",
		banner + "\n":                        "",
		"a\nb\n" + banner + "\n":             "; its last output:\n    a\n    b",
		strings.Repeat("x\n", 20) + "last\n": "; its last output:\n    x\n    x\n    x\n    x\n    last",
		"\x1b[31mred":                        "; its last output:\n    [31mred",
		" 1/9\r 2/9\r\n":                     "; its last output:\n    2/9",
	} {
		if got := s.lastWords([]byte(output)); got != want {
			t.Errorf("%q: got %q, want %q", output, got, want)
		}
	}
	word := `{"version":1,"job":5,"state":"exited","host":"n","first_line":"2026-03-04T12:00:00Z","beat":"2026-03-04T12:00:00Z",
		"exit":{"code":3,"at":"2026-03-04T12:00:00Z"},"last_words":{"why":"exit code 3; ValueError: no","lines":["a","b"]}}`
	if err := os.WriteFile(filepath.Join(s.folder, checkpoint.RunnerFile), []byte(word), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := s.lastWords([]byte("printed")); got != "; its last output:\n    exit code 3; ValueError: no\n    a\n    b" {
		t.Errorf("%q", got)
	}
	if got := emulation([]byte("a\nGPU time is emulated: 0.4 s\nb")); got != "GPU time is emulated: 0.4 s" {
		t.Errorf("%q", got)
	}
	if got := emulation([]byte("nothing of that kind")); got != "" {
		t.Errorf("%q", got)
	}
}
