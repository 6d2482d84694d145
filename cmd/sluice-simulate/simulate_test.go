package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sluice-hpc/sluice/cmd/terminal"
	"github.com/sluice-hpc/sluice/elastic/sim/workload"
)

func TestParseCluster(t *testing.T) {
	for text, want := range map[string]int{"16x4": 64, "1x1": 1, " 4x8, 2x4 ": 40, "1250x8": 10_000} {
		inventory, gpus, err := parseCluster(text)
		sum := 0
		for _, n := range inventory {
			sum += n.Free()
		}
		if err != nil || gpus != want || sum != want || inventory[0].Name != "n1" {
			t.Errorf("%q: %d GPUs, want %d: %v", text, gpus, want, err)
		}
	}
	for _, text := range []string{"", "16", "x4", "16x", "0x4", "4x-1", "4x4,", "1000001x1", "1000000x1000000", "9999999999999999999x1", "4x4x4"} {
		if _, _, err := parseCluster(text); err == nil {
			t.Errorf("%q passes", text)
		}
	}
}

func TestParseTypes(t *testing.T) {
	inventory, gpus, times, err := parseTypes("2x4:a100,1x8:t4=0.5")
	if err != nil || gpus != 16 || len(inventory) != 3 || inventory[0].Type != "a100" || inventory[2].Type != "t4" || times["t4"] != 0.5 {
		t.Fatalf("%v %d %v: %v", inventory, gpus, times, err)
	}
	if by := faster(times); by("any", "t4") != 0.5 || by("any", "a100") != 1 {
		t.Error("times are lost")
	}
	for _, text := range []string{"4x4:", "4x4:a b", "4x4:a=", "4x4:a=0", "4x4:a=-1", "4x4:a=nan", "4x4:=2", "4x4:a=2,4x4:a=3", "4x4:a:b"} {
		if _, _, _, err := parseTypes(text); err == nil {
			t.Errorf("%q passes", text)
		}
	}
	if _, _, err := parseCluster("4x4:a=2"); err == nil {
		t.Error("where jobs are as fast everywhere, that passes")
	}
}

func TestParseCosts(t *testing.T) {
	c, err := parseCosts("0.1, t4=0.05")
	if err != nil || c.Of("a100") != 0.1 || c.Of("t4") != 0.05 {
		t.Fatalf("%+v: %v", c, err)
	}
	for _, text := range []string{"", "x", "-1", "nan", "inf", "t4=", "=1", "a b=1"} {
		if _, err := parseCosts(text); err == nil {
			t.Errorf("%q passes", text)
		}
	}
}

func FuzzParseCluster(f *testing.F) {
	f.Add("16x4")
	f.Add("4x8,2x4")
	f.Add("4x8:a,2x4:b=0.5")
	f.Fuzz(func(t *testing.T, text string) {
		if len(text) > 100 {
			return
		}
		inventory, gpus, _, err := parseTypes(text)
		if err == nil && (len(inventory) == 0 || len(inventory) > maxSimNodes || gpus < len(inventory) || gpus > maxSimGPUs) {
			t.Fatalf("%d nodes, %d GPUs", len(inventory), gpus)
		}
	})
}

func TestWeightOf(t *testing.T) {
	for name, want := range map[string]float64{"bert": 110, "bert-128": 110, "resnet50_cifar10-256": 23.5, "mobilenet-v2": 3.5, "nobody": 0, "": 0, "-": 0} {
		if got, known := weightOf(name); got != want || known != (want > 0) {
			t.Errorf("%q: %v %v", name, got, known)
		}
	}
	if got := modelRestart(100); got != 13*time.Second { // 1.4 + 8 + 2.4 + 1.2
		t.Errorf("100 million parameters: %v", got)
	}
}

// TestPublishedModelsHaveAPrice: every model of our generators has a restart cost, except
// the one without a size.
func TestPublishedModelsHaveAPrice(t *testing.T) {
	for _, g := range workload.Generators() {
		w, err := workload.Generate(g.Name, 1, workload.Options{Jobs: 200})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := (restartPrice{byModel: true}).priced(w); (err != nil) != (g.Name == "power") {
			t.Errorf("%s: %v", g.Name, err)
		}
	}
}

// TestProgress: what a line says of one of several simulations, and a clean terminal.
func TestProgress(t *testing.T) {
	var b bytes.Buffer
	p := newProgress(&b, 4)
	if p.of("fcfs").start(workload.Workload{Name: "w"}) != nil {
		t.Error("progress without a terminal")
	}
	now := time.Date(2026, 3, 4, 12, 0, 0, 0, time.UTC)
	p.meter = terminal.NewMeterOn(&b, 120, func() time.Time { return now })
	one := p.of("fcfs")
	tell := one.start(workload.Workload{Name: "night\x1b", Count: 200})
	tell(20)
	if b.Len() != 0 {
		t.Errorf("said at once: %q", b.String())
	}
	now = now.Add(10 * time.Second)
	tell(100)
	one.end()
	p.of("ef").start(workload.Workload{Name: "w", Count: 2})(1)
	text := b.String()
	if !strings.Contains(text, `12%, about 1:10 left  fcfs on night\x1b, 50% of 200 jobs; 0 of 4 done`) || strings.Count(text, "\r") != 1 {
		t.Errorf("%q", text)
	}
	p.clear()
	if !strings.HasSuffix(b.String(), "\r\x1b[K") {
		t.Errorf("%q", b.String())
	}
}

// TestInterrupted: what ended before Ctrl-C is reported, and a file that was there
// stays as it was when nothing did.
func TestInterrupted(t *testing.T) {
	file := filepath.Join(t.TempDir(), "report")
	if err := os.WriteFile(file, []byte("of yesterday"), 0o600); err != nil {
		t.Fatal(err)
	}
	o := simulateOptions{
		cluster: "3x4", workloads: []string{"gen:w1"}, policies: []string{"fcfs"}, interval: time.Minute, restart: "10s",
		cost: "0.1", info: "oracle", placing: "sluice", seeds: 2, loads: []float64{1}, output: "json", parallel: 1, file: file,
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	err := o.simulate(ctx, io.Discard, io.Discard)
	if err == nil || !strings.HasPrefix(err.Error(), "interrupted: no simulation ended") {
		t.Errorf("%v", err)
	}
	if b, _ := os.ReadFile(file); string(b) != "of yesterday" {
		t.Errorf("the file holds %q", b)
	}
	o.file = filepath.Join(filepath.Dir(file), "new")
	if err := o.simulate(ctx, io.Discard, io.Discard); err == nil {
		t.Error("no error")
	}
	if _, err := os.Stat(o.file); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("an empty report is left behind: %v", err)
	}
	var out bytes.Buffer
	o.file = ""
	if err := o.simulate(t.Context(), &out, io.Discard); err != nil || strings.Count(out.String(), "\n") != 2 {
		t.Errorf("%v: %s", err, out.String())
	}
}

// TestRewrites: a shorter report replaces a longer one completely.
func TestRewrites(t *testing.T) {
	file := filepath.Join(t.TempDir(), "report")
	for _, text := range []string{"a long report", "short"} {
		s, err := openSink("-o", file, nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := s.write(func(w io.Writer) error { _, err := io.WriteString(w, text); return err }); err != nil {
			t.Fatal(err)
		}
		if b, _ := os.ReadFile(file); string(b) != text {
			t.Errorf("%q", b)
		}
	}
}

// TestSimulateRefusals: what is wrong, and what to type instead.
func TestSimulateRefusals(t *testing.T) {
	for _, c := range []struct{ args, want string }{
		{"", "say what to simulate: --cluster 16x4 is 16 nodes with 4 GPUs each"},
		{"--cluster 3x4", "gen:NAME with one of w1, w2, w3, w4, powerlaw, bursty"},
		{"--cluster 3by4 --workload gen:w1", `--cluster "3by4": want NODESxGPUS, such as 16x4`},
		{"--cluster 3x4 --workload gen:w1@never", "gen:w1@never"},
		{"--cluster 3x4 --workload gen:w1 --policy fcfs,best", `--policy: unknown policy "best": want `},
		{"--cluster 3x4 --workload gen:w1 --policy fcfs,fcfs", "--policy: fcfs is named twice"},
		{"--cluster 3x4 --workload jobs.json", "say what the file is with --format pollux|elasticflow|philly|sacct|sluice"},
		{"--cluster 3x4 --workload jobs.json --format xls", `"xls"`},
		{"--cluster 3x4 --workload nowhere.csv --format sluice", "nowhere.csv"},
		{"--cluster 3x4 --workload gen:w1,gen:w1", "gen:w1 is given twice"},
		{"--cluster 3x4 --workload gen:w1 --restart often", `--restart "often": want a time such as 30s, at most 24h, or model`},
		{"--cluster 3x4 --workload gen:power@0.5 --restart model", "whose size is unknown; give one cost for all, such as --restart 30s"},
		{"--cluster 3x4 --workload gen:w1 --output pdf", `--output "pdf": want table, json, csv, html`},
		{"--cluster 3x4 --workload gen:w1 --info rumour", `--info "rumour": want oracle, learned`},
		{"--cluster 3x4 --workload gen:w1 --load 0", "--load 0: want above 0"},
		{"--cluster 3x4 --workload gen:w1 --overload 1", "bound --preempt: give it too"},
		{"--cluster 3x4 --workload gen:w1 --seeds 0", "--seeds 0: want 1 to 10000"},
		{"--cluster 3x4 --workload gen:w1 --interval 0s", "--interval 0s: want 1ms to 720h"},
		{"--cluster 3x4 --workload gen:w1 --events e --parallel 2", "leave --parallel at 1"},
		{"--cluster 3x4 --workload gen:w1 --shares phys", `--shares: shares "phys": want ACCOUNT=NUMBER`},
		{"--cluster 3x4 --workload gen:w1 --shares phys=-1", "--shares: shares of account phys: -1: want 0, or a number from"},
		{"--cluster 3x4 --workload gen:w1 --shares lab/x=1", "there is no account lab, its parent"},
		{"--cluster 3x4 --workload gen:w1 --shares phys=1 --engine", "--shares holds for decisions in rounds"},
		{"--cluster 3x4 --workload gen:w1 --shares phys=1 --bound", "leave one of --bound and --shares out"},
		{"--cluster 3x4 --workload gen:w1 --shares phys=1 --half-life 0s", "--half-life 0s: want a time above 0"},
		{"--cluster 3x4 --workload gen:w1 -o no/such/folder", "-o: open no/such/folder"},
	} {
		var out, errs bytes.Buffer
		code := terminal.Run(newCommand(), append([]string{"simulate"}, strings.Fields(c.args)...), &out, &errs)
		if code != 1 || !strings.HasPrefix(errs.String(), "sluice: error: ") || !strings.Contains(errs.String(), c.want) || out.Len() > 0 {
			t.Errorf("%q: %d, %s%swant %s", c.args, code, out.String(), errs.String(), c.want)
		}
	}
	var out, errs bytes.Buffer
	if code := terminal.Run(newCommand(), []string{"simulate", "--help"}, &out, &errs); code != 0 || !strings.Contains(out.String(), "powerlaw[@JOBS]") || !strings.Contains(out.String(), "  fcfs  ") {
		t.Errorf("help: %d, %s", code, out.String())
	}
}
