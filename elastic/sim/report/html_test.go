package report

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"math"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sluice-hpc/sluice/elastic/draw"
	"github.com/sluice-hpc/sluice/elastic/policy"
	"github.com/sluice-hpc/sluice/elastic/sim/replay"
	"github.com/sluice-hpc/sluice/elastic/sim/workload"
	"github.com/sluice-hpc/sluice/nodes"
)

// tracked are the runs with a course of four jobs each.
func tracked() []Run {
	all := runs()
	for i := range all {
		all[i].Track = NewTrack(4, thirty)
		for k := range 4 {
			story(all[i].Track, k, 50*k)
		}
	}
	return all
}

func render(t *testing.T, all []Run) string {
	t.Helper()
	var b bytes.Buffer
	if err := WriteHTML(&b, all); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// cells reads the page with a strict tokenizer, which fails on anything that is
// not well formed, and returns the text of every table cell.
func cells(t *testing.T, page string) []string {
	t.Helper()
	d := xml.NewDecoder(strings.NewReader(page))
	var out []string
	in := false
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			return out
		}
		if err != nil {
			t.Fatalf("not well formed: %v", err)
		}
		switch v := token.(type) {
		case xml.StartElement:
			if v.Name.Local == "td" {
				in = true
				out = append(out, "")
			}
		case xml.EndElement:
			in = in && v.Name.Local != "td"
		case xml.CharData:
			if in {
				out[len(out)-1] += string(v)
			}
		}
	}
}

// TestPageMatchesJSON: every figure of every JSON object is in the page as it is
// spelled there.
func TestPageMatchesJSON(t *testing.T) {
	var b bytes.Buffer
	if err := WriteJSON(&b, tracked()); err != nil {
		t.Fatal(err)
	}
	printed := cells(t, render(t, tracked()))
	for line := range strings.Lines(b.String()) {
		var object map[string]json.RawMessage
		if err := json.Unmarshal([]byte(line), &object); err != nil {
			t.Fatal(err)
		}
		for _, key := range []string{"mean_jct_s", "p50_jct_s", "p99_jct_s", "makespan_s", "mean_wait_s", "max_wait_s", "restarts_per_job",
			"gpu_hours_useful", "gpu_hours_restart", "gpu_hours_idle", "deadline_met_ratio", "decision_ms_p50", "decision_ms_p99"} {
			if v := string(object[key]); v != "null" && !slices.Contains(printed, v) {
				t.Errorf("%s %s of %s is not in the page", key, v, object["workload"])
			}
		}
	}
}

var address = regexp.MustCompile(`(?i)(src|href)\s*=\s*"([^"#][^"]*)"|url\(|@import|https?://`)

// TestPageIsSelfContained: nothing is fetched, from file:// or anywhere.
func TestPageIsSelfContained(t *testing.T) {
	page := render(t, tracked())
	for _, found := range address.FindAllString(strings.NewReplacer(
		`xmlns="http://www.w3.org/2000/svg"`, "", `xmlns="http://www.w3.org/1999/xhtml"`, "").Replace(page), -1) {
		t.Errorf("the page refers to %s", found)
	}
}

// TestPageEscapes: users' words stay words.
func TestPageEscapes(t *testing.T) {
	all := tracked()
	const hostile = `</script><script>alert(1)</script>"'&` + "\x00\x1b\ufffe"
	for i := range all {
		all[i].Policy, all[i].Workload, all[i].Note, all[i].Cluster = hostile+all[i].Policy, hostile+all[i].Workload, hostile, hostile
	}
	page := render(t, all)
	cells(t, page)
	if strings.Contains(page, "alert(1)</script>") || strings.Count(page, "<script>") != 1 {
		t.Error("a name became code")
	}
}

func TestPageIsDeterministic(t *testing.T) {
	first, second := render(t, tracked()), render(t, tracked())
	if first != second {
		t.Error("the same runs give two pages")
	}
}

// TestPageOfManyJobs: a million jobs, most of them at work at some time, make a
// page that can be opened.
func TestPageOfManyJobs(t *testing.T) {
	const jobs = 1_000_000
	track := NewTrack(jobs, thirty)
	results := make([]replay.JobResult, jobs)
	for i := range jobs {
		from, long := time.Duration(i)*2*time.Second, time.Duration(60+i*7919%90_000)*time.Second
		results[i] = replay.JobResult{Name: "j", Submit: from, Start: from, End: from + long}
		track.Event(replay.Event{At: from, Job: i, Name: "j", Kind: "submit"})
		track.Event(replay.Event{At: from, Job: i, Kind: "start", To: place(1 + i%8)})
		track.Event(replay.Event{At: from + long, Job: i, Kind: "end"})
	}
	page := render(t, []Run{{Summary: Summary{Policy: "fcfs", Workload: "large", Jobs: jobs, GPUs: 200_000}, Spread: Spread(results), Track: track}})
	cells(t, page)
	if len(page) > 1<<20 {
		t.Errorf("the page has %d bytes", len(page))
	}
}

func TestEmptyPage(t *testing.T) {
	cells(t, render(t, nil))
	cells(t, render(t, []Run{{}}))
}

func TestTicks(t *testing.T) {
	for _, c := range []struct {
		end  time.Duration
		want string
	}{
		{90 * time.Second, "0, 0:10 min, 0:20 min, 0:30 min"}, {100 * time.Minute, "0, 10 min, 20 min, 30 min"},
		{20 * time.Hour, "0, 2 h, 4 h, 6 h"}, {60 * time.Hour, "0, 6 h, 12 h, 18 h"}, {26 * day, "0, 2 d, 4 d, 6 d"},
		{3000 * day, "0, 500 d, 1000 d, 1500 d"},
	} {
		var got []string
		for _, k := range draw.TimeTicks(c.end, 14)[:4] {
			got = append(got, k.Text)
		}
		if s := strings.Join(got, ", "); s != c.want {
			t.Errorf("%v: %s, want %s", c.end, s, c.want)
		}
	}
	for _, most := range []float64{1, 2, 3.4, 12, 45, 64, 100, 999, 10_000, 123_456} {
		if n := len(draw.CountTicks(most, 4)); n < 2 || n > 7 {
			t.Errorf("%v has %d marks", most, n)
		}
	}
	if s := logScaleOf(0, 0); s.at(time.Hour) <= 1 || s.at(0) < 0 {
		t.Errorf("an empty distribution has the scale %+v", s)
	}
}

// TestTrackAgreesWithReplay: GPU-hours drawn are those of the result.
func TestTrackAgreesWithReplay(t *testing.T) {
	for _, name := range []string{"knapsack", "fcfs", "ef"} {
		p, err := policy.ByName(name)
		if err != nil {
			t.Fatal(err)
		}
		w, err := workload.Generate("w4@5m", 1, workload.Options{})
		if err != nil {
			t.Fatal(err)
		}
		var inventory []nodes.Node
		for i := range 3 {
			inventory = append(inventory, nodes.Node{Name: fmt.Sprint(i), GPUs: 4, Usable: true})
		}
		track := NewTrack(w.Count, thirty)
		res, err := replay.Run(t.Context(), replay.Config{
			Nodes: inventory, Policy: p, Interval: time.Minute, Restart: 30 * time.Second, Info: replay.Oracle, Events: track.Event,
		}, w)
		if err != nil {
			t.Fatal(err)
		}
		sum := func(s *series) (total float64) {
			for _, v := range s.integrals() {
				total += v
			}
			return total
		}
		var waited float64
		for _, j := range res.Jobs {
			waited += j.Wait().Seconds()
		}
		for _, c := range []struct {
			what      string
			got, want float64
		}{{"useful", sum(track.useful), res.Useful}, {"restarting", sum(track.restarting), res.Restarting}, {"waiting", sum(track.waiting), waited}} {
			if math.Abs(c.got-c.want) > .001*max(1, c.want) {
				t.Errorf("%s: %s %v, want %v", name, c.what, c.got, c.want)
			}
		}
	}
}
