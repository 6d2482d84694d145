package workload_test

import (
	"bytes"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/sim/workload"
)

const header = `{"sluice_workload":1,"name":"mine","seed":7,"note":"by hand","jobs":2}` + "\n"

const byHand = header + `{"name":"a","submit_s":0,"min":1,"total":90,"model":"resnet50","asked":1,"parametric":{"one_s":45,"serial":0.025}}

{"name":"b","submit_s":60.5,"min":1,"max":4,"total":10,"deadline_s":3600,"table":{"1":30,"2":16,"4":9,"2+1":11}}
`

func decode(t testing.TB, text string) workload.Workload {
	t.Helper()
	w, err := workload.DecodeSluice(strings.NewReader(text), "mine.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	return w
}

func encode(t testing.TB, w workload.Workload) string {
	t.Helper()
	var b bytes.Buffer
	if err := workload.WriteSluice(&b, w); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestReadSluiceByHand(t *testing.T) {
	path := filepath.Join(t.TempDir(), "mine.jsonl")
	if err := os.WriteFile(path, []byte(byHand), 0o600); err != nil {
		t.Fatal(err)
	}
	w, err := workload.ReadSluice(path)
	if err != nil {
		t.Fatal(err)
	}
	jobs := slices.Collect(w.Jobs)
	if w.Name != "mine" || w.Seed != 7 || w.Note != "by hand" || w.Count != 2 || len(jobs) != 2 {
		t.Fatalf("%+v with %d jobs", w, len(jobs))
	}
	b := jobs[1]
	if b.Submit != 60500*time.Millisecond || b.Deadline != time.Hour || b.Spec.Max != 4 {
		t.Errorf("%+v", b)
	}
	for _, tc := range []struct {
		split []int
		want  float64
	}{{[]int{1}, 30}, {[]int{2}, 16}, {[]int{1, 1}, 16}, {[]int{1, 2}, 11}, {[]int{2, 1}, 11}, {[]int{2, 2}, 9}, {[]int{3}, math.Inf(1)}} {
		if got := b.Speeds.Seconds(tc.split); got != tc.want {
			t.Errorf("%v: %v, want %v", tc.split, got, tc.want)
		}
	}
	if _, err := workload.ReadSluice(filepath.Join(t.TempDir(), "none")); !os.IsNotExist(err) {
		t.Errorf("no file: %v", err)
	}
}

// TestRoundTrip: what is written is read back exactly, generated or drawn.
func TestRoundTrip(t *testing.T) {
	for _, name := range []string{"w3", "powerlaw@200", "bursty@200", "power@0.7"} {
		sameWorkload(t, generate(t, name, 5, workload.Options{}))
	}
	rapid.Check(t, func(rt *rapid.T) {
		var jobs []workload.Job
		at := time.Duration(0)
		for i := range rapid.IntRange(0, 6).Draw(rt, "jobs") {
			at += time.Duration(rapid.Int64Range(0, 1e15).Draw(rt, "gap"))
			j := workload.Job{Name: string(rune('a' + i)), User: rapid.StringMatching(`[ -~é]{0,9}`).Draw(rt, "user"), Account: rapid.StringMatching(`[a-z]{0,3}`).Draw(rt, "account"), Submit: at}
			j.Spec = elastic.Spec{
				Min: rapid.IntRange(1, 4).Draw(rt, "min"), Total: rapid.Float64Range(1e-6, 1e15).Draw(rt, "total"), AllowUneven: rapid.Bool().Draw(rt, "uneven"),
				Unit: rapid.SampledFrom([]elastic.Unit{"", elastic.Epochs, elastic.Steps}).Draw(rt, "unit"), Model: "m", Signal: "USR1",
				Grace: time.Duration(rapid.Int64Range(0, 1e12).Draw(rt, "grace")), CPUsPerGPU: 3, MemPerGPUMB: 1000,
			}
			if rapid.Bool().Draw(rt, "sizes") {
				j.Spec.Sizes = []int{j.Spec.Min, j.Spec.Min + 3}
			}
			j.Speeds = drawSpeeds(rt)
			jobs = append(jobs, j)
		}
		sameWorkload(rt, workload.Workload{Name: "drawn", Seed: rapid.Uint64().Draw(rt, "seed"), Count: len(jobs), Jobs: slices.Values(jobs)})
	})
}

func drawSpeeds(t *rapid.T) workload.Speeds {
	share := rapid.Float64Range(0, 1)
	switch rapid.IntRange(0, 2).Draw(t, "kind") {
	case 0:
		return workload.Parametric{One: rapid.Float64Range(1e-6, 1e6).Draw(t, "one"), Serial: share.Draw(t, "serial"), PerNode: share.Draw(t, "per node")}
	case 1:
		return workload.Assumed{Unit: rapid.Float64Range(1e-6, 1e6).Draw(t, "unit"), Reference: 4, Nodes: 2, Serial: share.Draw(t, "serial")}
	}
	table, err := workload.NewSplitTable(map[string]float64{"1": 1 + share.Draw(t, "1"), "2": 1 + share.Draw(t, "2"), "1+2+4": 1})
	if err != nil {
		t.Fatal(err)
	}
	return table
}

func sameWorkload(t interface {
	Helper()
	Fatal(...any)
	Fatalf(string, ...any)
}, w workload.Workload) {
	t.Helper()
	var text bytes.Buffer
	if err := workload.WriteSluice(&text, w); err != nil {
		t.Fatal(err)
	}
	back, err := workload.DecodeSluice(bytes.NewReader(text.Bytes()), "text")
	if err != nil {
		t.Fatal(err)
	}
	if back.Name != w.Name || back.Seed != w.Seed || back.Note != w.Note || back.Count != w.Count {
		t.Fatalf("%+v came back as %+v", w, back)
	}
	want, got := slices.Collect(w.Jobs), slices.Collect(back.Jobs)
	for i := range want {
		if !reflect.DeepEqual(want[i], got[i]) {
			t.Fatalf("job %d: %+v came back as %+v", i, want[i], got[i])
		}
	}
}

// TestEqualSpeedsAreEqual: answers about speeds are kept by value.
func TestEqualSpeedsAreEqual(t *testing.T) {
	line := `{"name":"NAME","submit_s":0,"min":1,"total":10,"table":{"1":30,"TWO":16}}` + "\n"
	as := func(name, two string) string { return strings.NewReplacer("NAME", name, "TWO", two).Replace(line) }
	jobs := slices.Collect(decode(t, strings.Replace(header, "2}", "3}", 1)+as("a", "2+1")+as("b", "1+2")+as("c", "2")).Jobs)
	if jobs[0].Speeds != jobs[1].Speeds || jobs[0].Speeds == jobs[2].Speeds {
		t.Error("tables that say the same must be the same, others must not")
	}
}

func TestSluiceErrors(t *testing.T) {
	job := func(from, to string) string {
		if !strings.Contains(byHand, from) {
			t.Fatalf("the example has no %s", from)
		}
		return strings.Replace(byHand, from, to, 1)
	}
	for name, tc := range map[string]struct{ text, want string }{
		"empty":          {"\n\n", "mine.jsonl:2:1: the file is empty"},
		"not a workload": {`{"policy":"fcfs"}`, `mine.jsonl:1:2: unknown field "policy"`},
		"not JSON":       {"JobID|Submit\n", "mine.jsonl:1:1: invalid character 'J'"},
		"version":        {job(`load":1`, `load":2`), `mine.jsonl:1:2: "sluice_workload":2: want 1`},
		"nameless":       {job(`"mine"`, `""`), "mine.jsonl:1:22: the workload needs a name"},
		"cut":            {strings.SplitAfterN(byHand, "\n", 3)[0], "mine.jsonl:1:1: the file ends after 0 of the 2 jobs"},
		"cut in a line":  {byHand[:len(byHand)-20], "the line ends within its object"},
		"too many":       {job(`"jobs":2`, `"jobs":1`), "mine.jsonl:4:1: there are more jobs than the 1"},
		"negative jobs":  {job(`"jobs":2`, `"jobs":-2`), "-2 jobs: want 0 to"},
		"min":            {job(`"submit_s":0,"min":1`, `"submit_s":0,"min":0`), `mine.jsonl:2:26: job "a": min 0: want 1 to 1000000`},
		"max":            {job(`"max":4`, `"min":5,"max":4`), `job "b": max 4 is below min 5`},
		"total":          {job(`"total":90`, `"total":0`), `mine.jsonl:2:34: job "a": no work`},
		"type":           {job(`"total":90`, `"total":"x"`), `mine.jsonl:2:44: "total" is a string; want float64`},
		"unknown":        {job(`"total":90`, `"totl":90`), `mine.jsonl:2:34: unknown field "totl"`},
		"negative time":  {job(`60.5`, `-60.5`), `mine.jsonl:4:24: -60.5: want seconds such as 12.5`},
		"time":           {job(`60.5`, `"1m"`), `mine.jsonl:4:24: "1m": want seconds such as 12.5`},
		"order":          {job(`"a","submit_s":0`, `"a","submit_s":100`), `mine.jsonl:4:13: job "b": comes at 1m0.5s, before the job on the line above (1m40s)`},
		"twice":          {job(`"b"`, `"a"`), `mine.jsonl:4:2: job "a": the name comes twice`},
		"no speeds":      {job(`,"parametric":{"one_s":45,"serial":0.025}`, ``), "want one of parametric, assumed and table, got 0"},
		"two speeds":     {job(`"parametric":{`, `"assumed":{"unit_s":1},"parametric":{`), "got 2 of them"},
		"speeds":         {job(`0.025`, `2`), `job "a": serial 2: want a share`},
		"assumed":        {job(`"parametric":{"one_s":45,"serial":0.025}`, `"assumed":{}`), `job "a": assumed seconds a unit 0`},
		"split":          {job(`"2+1"`, `"2+"`), `mine.jsonl:4:74: job "b": split "2+": want GPUs on each node`},
		"split twice":    {job(`"2+1":11`, `"2+1":11,"1+2":11`), `split "2+1" comes twice`},
		"no seconds":     {job(`"2":16`, `"2":0`), `split "2" takes 0 s a unit`},
		"empty table":    {job(`{"1":30,"2":16,"4":9,"2+1":11}`, `{}`), `0 splits: want 1 to`},
		"rest":           {job(`11}}`, `11}} {}`), "something follows the object"},
		"long":           {header + strings.Repeat("x", 2<<20), "mine.jsonl:2:1: the line is longer than"},
	} {
		if _, err := workload.DecodeSluice(strings.NewReader(tc.text), "mine.jsonl"); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: %v\nwant %s", name, err, tc.want)
		}
	}
}

// stranger is a kind of speeds the format does not hold.
type stranger struct{}

func (stranger) Seconds([]int) float64 { return 1 }

func TestWriteSluiceErrors(t *testing.T) {
	jobs := []workload.Job{{Name: "a", Spec: elastic.Spec{Min: 1, Total: 1}, Speeds: stranger{}}}
	w := workload.Workload{Name: "w", Count: 1, Jobs: slices.Values(jobs)}
	if err := workload.WriteSluice(&bytes.Buffer{}, w); err == nil || !strings.Contains(err.Error(), `job "a": its speeds are a workload_test.stranger`) {
		t.Error(err)
	}
	jobs[0].Speeds, w.Count = workload.Parametric{One: 1}, 2
	if err := workload.WriteSluice(&bytes.Buffer{}, w); err == nil || !strings.Contains(err.Error(), "has 1 jobs and says 2") {
		t.Error(err)
	}
}

// FuzzSluice: whatever the bytes, an error or a workload that survives writing.
func FuzzSluice(f *testing.F) {
	f.Add(byHand)
	f.Add(encode(f, generate(f, "powerlaw@5", 1, workload.Options{})))
	f.Add(header + `{"name":"a","submit_s":1e3,"min":1,"total":1,"assumed":{"unit_s":1,"gpus":4}}`)
	f.Fuzz(func(t *testing.T, text string) {
		w, err := workload.DecodeSluice(strings.NewReader(text), "f")
		if err != nil {
			return
		}
		first := encode(t, w)
		if second := encode(t, decode(t, first)); first != second {
			t.Errorf("%s\nread again:\n%s", first, second)
		}
	})
}
