package metrics

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/engine/event"
	"github.com/sluice-hpc/sluice/elastic/engine/journal"
	"github.com/sluice-hpc/sluice/elastic/engine/publish"
	"github.com/sluice-hpc/sluice/elastic/share"
	"github.com/sluice-hpc/sluice/elastic/share/claim"
)

func goVersion() string { return runtime.Version() }

// full returns metrics in which every series of the table has a value.
func full(t *testing.T) *Metrics {
	t.Helper()
	m := newMetrics(t, Options{Users: true, Jobs: true})
	own, err := share.NewOwn([]share.OwnAccount{{Name: "bio", Shares: 2, Users: map[string]float64{"ann": 1}}})
	if err != nil {
		t.Fatal(err)
	}
	r := reportOf(noon, jobOf(1, 2))
	r.Shares = publish.Shares{Count: true, Own: true, Tree: own.Tree, Claims: claim.Claims{Capacity: 12, Each: []claim.Claim{{Want: share.Want{Account: "bio", User: "ann", GPUs: 3}, Jobs: []elastic.JobID{1}}}}}
	m.Cycle(r, time.Second, nil)
	ended := jobOf(1, 2)
	ended.Ended, ended.Ending = true, journal.Ending{How: journal.Failed}
	next := reportOf(noon.Add(time.Minute), jobOf(2, 1), ended)
	next.Shares = r.Shares
	best := 0.9
	m.Sweeps(map[string]Sweep{"s": {Number: 7, Metric: "acc", State: "running", Trials: map[string]int{"done": 3}, Level: 1, Best: &best}})
	m.Cycle(next, time.Second, nil)
	m.Event(event.Event{Job: 1, Kind: "open", Fields: event.Fields{Move: elastic.Resize}})
	m.Event(event.Event{Job: 1, Kind: "close", Fields: event.Fields{Outcome: elastic.Done}})
	m.Requested("squeue", time.Second, true)
	m.Decided(time.Second)
	m.Wrote(time.Second, true)
	m.Message("mail", "sent")
	return m
}

var familyLine = regexp.MustCompile(`(?m)^# TYPE (sluice_\S+) (\S+)$`)

// TestEveryMetric: what can be scraped is the table, with its types and labels.
func TestEveryMetric(t *testing.T) {
	families, err := full(t).registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, f := range families {
		var labels []string
		for _, l := range f.GetMetric()[0].GetLabel() {
			labels = append(labels, l.GetName())
		}
		got[f.GetName()] = strings.ToLower(f.GetType().String()) + " " + strings.Join(labels, ",")
	}
	for _, d := range Definitions {
		labels := slices.Sorted(slices.Values(d.Labels))
		if want := d.Kind + " " + strings.Join(labels, ","); got[d.Name] != want {
			t.Errorf("%s is a %q, want %q", d.Name, got[d.Name], want)
		}
		delete(got, d.Name)
	}
	for name := range got {
		if strings.HasPrefix(name, "sluice_") {
			t.Errorf("%s is not in the table", name)
		}
	}
}

// TestMetricsPage: METRICS.md is the table.
func TestMetricsPage(t *testing.T) {
	var b strings.Builder
	b.WriteString(pageHead)
	for _, d := range Definitions {
		labels := "–"
		if len(d.Labels) > 0 {
			labels = "`" + strings.Join(d.Labels, "`, `") + "`"
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", d.Name, d.Kind, labels, d.Help)
	}
	fmt.Fprintf(&b, pageBounds, mostAccounts, mostUsers, mostJobs, mostTypes, mostSweeps)
	if *update {
		if err := os.WriteFile("METRICS.md", []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if had, err := os.ReadFile("METRICS.md"); err != nil || string(had) != b.String() {
		t.Errorf("METRICS.md is not the table (%v); go test ./elastic/metrics -run TestMetricsPage -update", err)
	}
}

const pageHead = `# Metrics of sluiced

Written by ` + "`go test ./elastic/metrics -run TestMetricsPage -update`" + `.

With ` + "`[metrics] listen`" + ` in sluice.toml sluiced answers at ` + "`/metrics`" + `, in the text format or as OpenMetrics. Names, types
and labels do not change; new ones may be added. Slurm has metrics of its own from release 25.11 on; these are what Slurm does
not know. Counters begin at 0 when sluiced starts. Beside these are the usual ` + "`go_*` and `process_*`" + `.

| metric | type | labels | meaning |
|---|---|---|---|
`

const pageBounds = `
The number of series is bounded. At most %d accounts, %d users, %d jobs and %d types of GPUs have series of their own, those with
the most GPUs or jobs; the others are one series named ` + "`other`" + `. GPUs without a type in Slurm are of the type ` + "`gpu`" + `. At
most %d sweeps, the newest, have series of their own; the counts are of all.

Alert rules for Prometheus are in ` + "`etc/prometheus-alerts.yml`" + `, a dashboard for Grafana is in ` + "`etc/grafana-dashboard.json`" + `.
`

var metricName = regexp.MustCompile(`\bsluice_[a-z0-9_]+`)

// TestFilesNameMetrics: every metric in the alert rules and the dashboard exists, with every label value
// pattern's label, and every metric is in the dashboard.
func TestFilesNameMetrics(t *testing.T) {
	known := map[string]bool{}
	for _, d := range Definitions {
		known[d.Name] = true
	}
	seen := map[string]bool{}
	for _, file := range []string{"../../etc/prometheus-alerts.yml", "../../etc/grafana-dashboard.json"} {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		names := metricName.FindAllString(string(text), -1)
		if len(names) == 0 {
			t.Errorf("%s names no metric", file)
		}
		for _, name := range names {
			base := strings.TrimSuffix(name, "_bucket")
			if !known[base] {
				t.Errorf("%s: there is no metric %s", file, name)
			}
			seen[base] = true
		}
		for _, use := range regexp.MustCompile(`(sluice_[a-z0-9_]+?)(?:_bucket)?\{([^}]*)\}`).FindAllStringSubmatch(strings.ReplaceAll(string(text), `\"`, `"`), -1) {
			for _, label := range regexp.MustCompile(`([a-z_]+)(?:=~|=|!=)`).FindAllStringSubmatch(use[2], -1) {
				if label[1] != "instance" && !slices.Contains(find(use[1]).Labels, label[1]) {
					t.Errorf("%s: %s has no label %s", file, use[1], label[1])
				}
			}
		}
	}
	for name := range known {
		if !seen[name] {
			t.Errorf("%s is in no panel and no alert rule", name)
		}
	}
}

// TestDashboard: the dashboard can be read, and its panels have different ids and places.
func TestDashboard(t *testing.T) {
	text, err := os.ReadFile("../../etc/grafana-dashboard.json")
	if err != nil {
		t.Fatal(err)
	}
	var d struct {
		UID    string
		Panels []struct {
			ID      int
			Title   string
			Type    string
			GridPos struct{ X, Y, W, H int }
			Targets []struct{ Expr string }
		}
	}
	if err := json.Unmarshal(text, &d); err != nil || d.UID == "" {
		t.Fatal(err)
	}
	ids, cells := map[int]bool{}, map[[2]int]string{}
	for _, p := range d.Panels {
		if ids[p.ID] || p.Title == "" || p.Type != "row" && len(p.Targets) == 0 {
			t.Errorf("panel %d %q", p.ID, p.Title)
		}
		ids[p.ID] = true
		for x := p.GridPos.X; x < p.GridPos.X+p.GridPos.W; x++ {
			for y := p.GridPos.Y; y < p.GridPos.Y+p.GridPos.H; y++ {
				if other := cells[[2]int{x, y}]; other != "" || x >= 24 {
					t.Fatalf("%s lies over %s, or beside the page", p.Title, other)
				}
				cells[[2]int{x, y}] = p.Title
			}
		}
	}
}

// TestPromtool: Prometheus's own checker accepts a scrape and the alert rules. The rules are loaded with
// a scrape's metrics, and none of the expressions of the dashboard has a syntax error.
func TestPromtool(t *testing.T) {
	promtool, err := exec.LookPath("promtool")
	if err != nil {
		t.Skip("NOT TESTED: no promtool on PATH (Debian: apt-get install prometheus)")
	}
	run := func(stdin string, args ...string) {
		t.Helper()
		cmd := exec.Command(promtool, args...)
		cmd.Stdin = strings.NewReader(stdin)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("promtool %s: %v\n%s", strings.Join(args, " "), err, out)
		}
	}
	var ours []string // the Go runtime's own metrics do not pass this check
	for line := range strings.Lines(scrape(t, full(t), "")) {
		if strings.Contains(line, "sluice_") {
			ours = append(ours, line)
		}
	}
	run(strings.Join(ours, ""), "check", "metrics")
	run("", "check", "rules", "../../etc/prometheus-alerts.yml")

	text, err := os.ReadFile("../../etc/grafana-dashboard.json")
	if err != nil {
		t.Fatal(err)
	}
	var rules strings.Builder
	rules.WriteString("groups:\n- name: panels\n  rules:\n")
	for i, found := range regexp.MustCompile(`"expr": ("(?:[^"\\]|\\.)*")`).FindAllStringSubmatch(string(text), -1) {
		fmt.Fprintf(&rules, "  - record: panel:%d\n    expr: %s\n", i, found[1])
	}
	file := filepath.Join(t.TempDir(), "panels.yml")
	if err := os.WriteFile(file, []byte(rules.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	run("", "check", "rules", file)
}

// TestOpenMetrics: a scraper that asks for OpenMetrics gets it.
func TestOpenMetrics(t *testing.T) {
	text := scrape(t, full(t), "application/openmetrics-text;version=1.0.0")
	if !strings.HasSuffix(text, "# EOF\n") || !strings.Contains(text, "# TYPE sluice_moves counter\n") {
		t.Errorf("%.300s", text)
	}
	if !familyLine.MatchString(scrape(t, full(t), "")) {
		t.Error("no text format without it")
	}
}
