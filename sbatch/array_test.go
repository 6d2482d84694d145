package sbatch

import (
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/sluice-hpc/sluice/elastic"
)

// TestParseArray: sbatch 22.05 accepts the same, and reports the same step to its tasks.
func TestParseArray(t *testing.T) {
	for text, want := range map[string]struct {
		tasks          []int
		step, at, most int
	}{
		"0-15":        {[]int{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}, 1, 0, 15},
		"0-15:4":      {[]int{0, 4, 8, 12}, 4, 0, 12},
		"0-15%4":      {[]int{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}, 1, 4, 15},
		"1,3,5-7":     {[]int{1, 3, 5, 6, 7}, 1, 0, 7},
		"5-7,1,3%2":   {[]int{1, 3, 5, 6, 7}, 1, 2, 7},
		"0-15:4%2":    {[]int{0, 4, 8, 12}, 4, 2, 12},
		"7":           {[]int{7}, 1, 0, 7},
		"1-3,2-4":     {[]int{1, 2, 3, 4}, 1, 0, 4},
		"[1-3]%1":     {[]int{1, 2, 3}, 1, 1, 3},
		"[2]":         {[]int{2}, 1, 0, 2},
		"1-2:99":      {[]int{1}, 99, 0, 1},
		"1-9:4,5-9:2": {[]int{1, 5, 7, 9}, 4, 0, 9},
		"2-8:3,11":    {[]int{2, 5, 8, 11}, 3, 0, 11},
		"0%0":         {[]int{0}, 1, 0, 0},
		"007-9":       {[]int{7, 8, 9}, 1, 0, 9},
		"0-1,10-1:1":  {},
	} {
		a, err := ParseArray(text)
		if want.tasks == nil {
			if err == nil {
				t.Errorf("%s: %+v", text, a)
			}
			continue
		}
		if err != nil || !slices.Equal(a.Tasks, want.tasks) || a.Limit != want.at || a.Step != want.step || a.Max() != want.most {
			t.Errorf("%s: %+v, %v", text, a, err)
		}
	}
	for text, want := range map[string]string{
		"":                       "column 1: want a number: an index",
		"a":                      "column 1: want a number: an index",
		"-1":                     "column 1: want a number: an index",
		" 1":                     "column 1: want a number: an index",
		"1,":                     "column 3: want a number: an index",
		"1,,2":                   "column 3: want a number: an index",
		"1-":                     "column 3: want a number: an index",
		"0,9-3":                  "column 3: 3 is below 9",
		"1-3:":                   "column 5: want a number: a step",
		"1-3:0":                  "column 5: a step is 1 or more",
		"1:2":                    "column 2: want a list of indices",
		"1-3x":                   "column 4: want a list of indices",
		"1-3%":                   "column 5: want a number: how many tasks may run at once",
		"1-3%2%3":                "column 6: want a list of indices",
		"1%2,3":                  "column 4: want a list of indices",
		"[1-3":                   "column 5: want ]",
		"1-3]":                   "column 4: want a list of indices",
		"1,99999999":             "column 3: the largest index there can be is 4000000",
		"1-99999999999999999999": "column 3: the largest index",
	} {
		if _, err := ParseArray(text); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%q: got %v, want %s", text, err, want)
		}
	}
}

// FuzzParseArray: a parsed list can be written and read again; an error names its column.
func FuzzParseArray(f *testing.F) {
	for _, seed := range []string{"0-15:4%2", "1,3,5-7", "[1-3]%1", "9-1", "%", "1-3:0", "007"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if len(text) > 12 {
			return // indices by the million
		}
		a, err := ParseArray(text)
		if err != nil {
			if !strings.HasPrefix(err.Error(), "column ") {
				t.Fatalf("%q: %v", text, err)
			}
			return
		}
		if len(a.Tasks) == 0 || !slices.IsSorted(a.Tasks) || a.Min() < 0 || a.Max() > elastic.MaxIndex || a.Step < 1 || a.Limit < 0 {
			t.Fatalf("%q: %+v", text, a)
		}
		if len(a.Tasks) > 1000 {
			return
		}
		var words []string
		for _, n := range a.Tasks {
			words = append(words, strconv.Itoa(n))
		}
		again, err := ParseArray(strings.Join(words, ",") + "%" + strconv.Itoa(a.Limit))
		if err != nil || !slices.Equal(again.Tasks, a.Tasks) || again.Limit != a.Limit {
			t.Fatalf("%q: %+v became %+v, %v", text, a, again, err)
		}
	})
}

// TestArrayTask: the options with which the job of one task is submitted.
func TestArrayTask(t *testing.T) {
	r := merge(t, "--array=3-7:2%2 --min-gpus=1 -e err.%a job.sh x", nil, "#SBATCH --array=1-3 --nice=5", "#SBATCH -o out/%4A_%3a_%x_%%a.log")
	for _, tc := range []struct {
		job               Job
		tag, run, out, to string
	}{
		{Job{Token: strings.Repeat("0", 32), Sluice: "/s", Script: "/j/script", Batch: "/j/batch", Index: 3}, " array=0_3/3%2+ ", "'--array=0_3/3:3-7:2'", "--output=out/%4j_003_%x_%%a.log", "--error=err.3"},
		{Job{Token: strings.Repeat("0", 32), Sluice: "/s", Script: "/j/script", Batch: "/j/batch", Index: 5, Of: 77}, " array=77_5/3%2", "'--array=77_5/3:3-7:2'", "--output=out/0077_005_%x_%%a.log", "--error=err.5"},
	} {
		args, err := r.Args(tc.job)
		text := strings.Join(args, " ") + " "
		if err != nil || !strings.Contains(text, tc.tag) || !strings.HasSuffix(text, " -e err.%a "+tc.out+" "+tc.to+" /j/batch x ") || strings.Contains(text, "--array") {
			t.Errorf("%s %v", text, err)
		}
		batch := string(r.Batch(tc.job))
		if !strings.Contains(batch, " run "+tc.run+" ") || strings.Contains(batch, "#SBATCH --array") || !strings.Contains(batch, "#SBATCH --nice=5\n") {
			t.Error(batch)
		}
	}
	files := func(args string, env []string, lines ...string) string {
		return strings.Join(merge(t, args+" --min-gpus=1 job.sh", env, lines...).filesOf(Job{Index: 3, Of: 77}), " ")
	}
	for _, tc := range []struct{ got, want string }{
		{files("--array=3", nil), "--output=slurm-77_3.out"},
		{files("--array=3 -o one.out -e %a.err", nil), "--error=3.err"},
		{files("--array=3", []string{"SBATCH_OUTPUT=env_%a"}, "#SBATCH -o script_%a"), "--output=env_3"},
		{files("--array=3 -o line_%a", []string{"SBATCH_OUTPUT=env_%a"}), "--output=line_3"},
		{files("--array=3 -o x -i in.%a", nil), "--input=in.3"},
		{files(`--array=3 -o x\%a`, nil), ""},
		{files("--array=3 -o 100%", nil), ""},
		{files("", nil), ""},
	} {
		if tc.got != tc.want {
			t.Errorf("got %q, want %q", tc.got, tc.want)
		}
	}
	if got := Without([]string{"A=1", "SBATCH_ARRAY_INX=1-3"}); !slices.Equal(got, []string{"A=1"}) {
		t.Errorf("environment for sbatch: %q", got)
	}
	if s := r.Single(); s.Array != nil || len(s.filesOf(Job{})) > 0 || s.part(Job{}).Is() {
		t.Errorf("%+v", s.Array)
	}
}
