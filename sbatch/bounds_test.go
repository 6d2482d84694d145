package sbatch

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sluice-hpc/sluice/elastic"
)

// TestBounds: each bounded value is accepted at its bound and refused beyond it.
func TestBounds(t *testing.T) {
	long := func(before string, n int, after string) string {
		return before + strings.Repeat("x", n-len(before)-len(after)) + after
	}
	list := func(n int, word string) string {
		words := make([]string, n)
		for i := range words {
			words[i] = fmt.Sprint(word, i+1)
		}
		return strings.Join(words, ",")
	}
	const still = "--checkpoint-glob=x"
	for _, tc := range []struct{ option, at, beyond string }{
		{"--max-gpus", "1000000", "1000001"},
		{"--max-gpus", "0", "-1"},
		{"--min-gpus", "1", "0"},
		{"--cpus-per-gpu", "1", "0"},
		{"--max-gpus", "7", "+7"},
		{"--mem-per-gpu", "1000000000", "1000000001"},
		{"--mem-per-gpu", "1", "0"},
		{"--mem-per-gpu", "1K", "0K"},
		{"--mem-per-gpu", "7", "+7"},
		{"--mem-per-gpu", "953T", "954T"},
		{"--retries", "1000", "1001"},
		{"--retries", "0", "-1"},
		{"--retries", "auto", "some"},
		{"--checkpoint-every", "10", "9"},
		{"--checkpoint-every", "10s", "9999ms"},
		{"--checkpoint-every", "30-0", "30-0:0:1"},
		{"--checkpoint-every", "auto", "on"},
		{"--checkpoint-every", "off", "-1"},
		{"--on-timeout", "requeue", "again"},
		{"--on-timeout", "end", "kill"},
		{"--grace", "1", "0"},
		{"--grace", "1-0", "1-0:0:1"},
		{"--grace", "24h", "24h1s"},
		{"--grace", "086400", "0086400"},
		{"--epochs", "1e15", "1.1e15"},
		{"--epochs", "1e-9", "0"},
		{"--epochs", "5", "+5"},
		{"--gpu-types", list(elastic.MaxTypes, "a"), list(elastic.MaxTypes+1, "a")},
		{"--profile", list(elastic.MaxProfile, ""), list(elastic.MaxProfile+1, "")},
		{still + " --checkpoint-marker", long("", 255, ""), long("", 256, "")},
		{still + " --checkpoint-marker", "...", ".."},
		{still + " --checkpoint-marker", ".a", "."},
		{"--checkpoint-glob", long("", 1024, ""), long("", 1025, "")},
		{"--checkpoint-glob", "a/.", "."},
		{"--checkpoint-glob", "a~", "~a"},
		{"--progress-regex", long(`(?P<epoch>\d)`, 1024, ""), long(`(?P<epoch>\d)`, 1025, "")},
		{"--deadline-mode", "hard", "hardly"},
	} {
		for _, value := range []string{tc.at, tc.beyond} {
			args := tc.option + "=" + value + " job"
			if strings.HasPrefix(tc.option, "--deadline") {
				args = "--steps=1 --deadline=now+9 " + args
			}
			line, err := ParseCommandLine(strings.Fields(args))
			if err == nil {
				_, err = Merge(line, nil, mustScript(t, "#!/bin/sh\n"))
			}
			if (err == nil) != (value == tc.at) {
				t.Errorf("%s=%.40s: %v", tc.option, value, err)
			}
		}
	}
}

// TestValues: the accepted forms of values, and how they are passed on.
func TestValues(t *testing.T) {
	for args, want := range map[string]string{
		"--retries=auto --checkpoint-every=auto --on-timeout=end": "auto auto end",
		"--retries=007 --checkpoint-every=0 --on-timeout=requeue": "7 off requeue",
		"--checkpoint-every=off":                                  " off ",
		"--checkpoint-every=10m":                                  " 10m0s ",
		"--checkpoint-every=5:00":                                 " 5m0s ",
		"--checkpoint-every=1-0":                                  " 24h0m0s ",
	} {
		r := merge(t, args+" job", nil)
		if got := r.Retries + " " + r.Every + " " + r.OnTimeout; got != want {
			t.Errorf("%s: %q, want %q", args, got, want)
		}
	}
	for word, want := range map[string]bool{"yes": true, "TRUE": true, "1": true, "on": true, "": true, "no": false, "False": false, "0": false, "OFF": false} {
		if r := merge(t, "--allow-uneven="+word+" job", nil); r.Spec.AllowUneven != want {
			t.Errorf("--allow-uneven=%s: %t", word, r.Spec.AllowUneven)
		}
	}
	// sbatch takes any number but 0, and yes, and no value at all.
	for word, want := range map[string]bool{"": true, "1": true, "-1": true, "YES": true, "0": false, "no": false, "true": false} {
		if r := merge(t, "job", []string{"SBATCH_WAIT=" + word}); r.Wait != want {
			t.Errorf("SBATCH_WAIT=%s: %t", word, r.Wait)
		}
	}
	for in, want := range map[string]int64{"1k": 1, "1024K": 1, "1025kb": 2, "1M": 1, "3mB": 3, "2g": 2048, "2TB": 2 << 20, "08": 8} {
		if got, err := parseMemory(in); err != nil || got != want {
			t.Errorf("%s: %d MB, %v, want %d", in, got, err, want)
		}
	}
	for in, want := range map[string]time.Duration{"999-0": 999 * 24 * time.Hour, "999999:00": 999999 * time.Minute, "999999": 999999 * time.Minute,
		"0:01": time.Minute, "1:00": time.Minute, "1:01": 2 * time.Minute, "1:0:0": time.Hour, "0-0:1": time.Minute,
		"2147483647": math.MaxInt64 / time.Minute * time.Minute, "153722867": 153722867 * time.Minute} {
		if got, ok := parseLimit(in); !ok || got != want {
			t.Errorf("-t %s: %v, %t, want %v", in, got, ok, want)
		}
	}
	for _, in := range []string{"1000-0", "1000000:00", "", "1-", "-", "1:2:3:4", "1-2:3:4:5", "0-1:2:3:4", "a", "1-a", "1:a", "1:-1"} {
		if got, ok := parseLimit(in); ok {
			t.Errorf("-t %q is %v", in, got)
		}
	}
	for text, want := range map[string]string{"": `""`, ":": `":"`, "a:b": "a:b", "azAZ09_-+=.,:/@%^": "azAZ09_-+=.,:/@%^", "a b": `"a b"`, `"\`: `"\"\\"`, "é": `"é"`} {
		if got := quoteWord(text); got != want {
			t.Errorf("%s is written %s, want %s", text, got, want)
		}
	}
}

// TestWhereItEndsToBeAhead: a deadline is at most ten years ahead, whether relative or a
// date.
func TestWhereItEndsToBeAhead(t *testing.T) {
	now := time.Date(2026, 11, 22, 16, 30, 0, 0, time.UTC)
	last := now.Add(3650 * 24 * time.Hour).Format("2006-01-02T15:04:05")
	for text, taken := range map[string]bool{"now+3650days": true, "now+3651days": false, "now+1": true, "now+87600hours": true, "now+87601hours": false,
		last: true, last[:17] + "01": false, "16:30:01": true} {
		w, err := parseWhen(text)
		if err == nil {
			_, err = w.at(now)
		}
		if (err == nil) != taken {
			t.Errorf("%s: %v", text, err)
		}
	}
	r := merge(t, "--steps=1 --deadline=now+9 job", nil)
	if err := r.Date(now); err != nil || r.Spec.Deadline != now.Add(9*time.Second) {
		t.Errorf("%v, %v", r.Spec.Deadline, err)
	}
	r = merge(t, "--steps=1 --deadline=2026-11-22 job", nil)
	if err := r.Date(now); err == nil || err.Error() != "--deadline=2026-11-22: that is in the past: it is now 2026-11-22 16:30:00; name a time in the future" {
		t.Errorf("%v", err)
	}
	if r = merge(t, "job", nil); r.Date(now) != nil || !r.Spec.Deadline.IsZero() {
		t.Errorf("without a deadline: %v", r.Spec.Deadline)
	}
}

// TestArrayBounds: indices, steps and limits far above any array's are reduced to the
// bound.
func TestArrayBounds(t *testing.T) {
	const most = elastic.MaxIndex + 1 // tasks
	for text, want := range map[string]Array{
		"4000000":              {[]int{4000000}, 0, 1},
		"1%9999999999999999":   {[]int{1}, most, 1},
		"1%4000001":            {[]int{1}, most, 1},
		"1%4000000":            {[]int{1}, most - 1, 1},
		"1-2:9999999999999999": {[]int{1}, 0, most},
		"1-2:4000001":          {[]int{1}, 0, most},
	} {
		if a, err := ParseArray(text); err != nil || !slices.Equal(a.Tasks, want.Tasks) || a.Limit != want.Limit || a.Step != want.Step {
			t.Errorf("%s: %v, %v, want %v", text, a, err, want)
		}
	}
	for name, want := range map[string]string{"%12a": "0000000003", "%10A": "0000000077", "%9a%0a%1a": "000000003" + "3" + "3", "%09A": "000000077", "a%": "a%", "%5": "%5", "%3%": "%3%", "%a": "3"} {
		if got := fileOf(name, Job{Index: 3, Of: 77}); got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
}

// TestTooManyIndices: a list may name each index twice at most.
func TestTooManyIndices(t *testing.T) {
	if _, err := ParseArray("1-4000000,1-4000000,1,2"); err == nil || err.Error() != "column 23: too many indices" {
		t.Error(err)
	}
}

// TestMessagesAreShort: a message quotes at most 200 bytes of the input, and no control
// characters.
func TestMessagesAreShort(t *testing.T) {
	x := strings.Repeat("x", 199)
	for text, want := range map[string]string{
		x + "y": x + "y", x + "yz": x + "y...", x + "é": x + "...",
		"a\x1fb\x7fc d~": "a?b?c d~", "\u0080\u009f\u00a0\ufffd\ufffe\u0100": "??\u00a0?\ufffe\u0100",
	} {
		if got := printable(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
	for place, want := range map[Place]string{{}: "the command line", {Source: "SBATCH_GPUS"}: "SBATCH_GPUS", {"a\nb", 2, 3}: "a?b:2:3"} {
		if got := place.String(); got != want {
			t.Errorf("%+v: %s, want %s", place, got, want)
		}
	}
	for want, err := range map[string]*Error{
		"job:1:2: what: why; do": {Place{"job", 1, 2}, "what", "why", "do"},
		"X=1: why":               {Place{Source: "X"}, "X=1", "why", ""},
		"X: Y=1: why":            {Place{Source: "X"}, "Y=1", "why", ""},
		"why":                    {Place{}, "", "why", ""},
	} {
		if err.Error() != want {
			t.Errorf("%s, want %s", err.Error(), want)
		}
	}
}

// TestWhereTheMinimumComesFrom: the option that sets the minimum is named as typed.
func TestWhereTheMinimumComesFrom(t *testing.T) {
	for _, tc := range []struct{ args, line, want string }{
		{"job", "", ""},
		{"--max-gpus=4 job", "", ""},
		{"--min-gpus=2 job", "", "--min-gpus=2 (the command line)"},
		{"job", "#SLUICE --gpu-sizes=2,4", "--gpu-sizes=2,4 (job.sh:2:9)"},
		{"--gpus=4 job", "", "--gpus=4 (the command line)"},
		{"job", "#SBATCH -G 2 -N 1", "-G 2 (job.sh:2:9) with -N 1 (job.sh:2:14)"},
	} {
		if got := merge(t, tc.args, nil, tc.line).LeastFrom(); got != tc.want {
			t.Errorf("%+v: %s", tc, got)
		}
	}
}

// TestRequestKeepsWhatItWasMadeFrom: the script, the comment of a whole array, and what
// is only printed.
func TestRequestKeepsWhatItWasMadeFrom(t *testing.T) {
	r := merge(t, "--parsable --array=1-2 --comment=mine --min-gpus=1 job", nil, "true")
	if string(r.Script()) != "#!/bin/sh\ntrue" || !r.Parsable || merge(t, "job", nil).Parsable {
		t.Errorf("%q, %t", r.Script(), r.Parsable)
	}
	j := Job{Token: token, Index: 1}
	args, err := r.Args(j)
	if err != nil || !slices.ContainsFunc(args, func(a string) bool { return strings.Contains(a, " array=0_1/2+ defer=1 ; mine") }) {
		t.Errorf("one task: %q, %v", args, err)
	}
	if got, err := r.Comment(j); err != nil || !strings.Contains(got, " array=0_1/2 defer=1 ; mine") {
		t.Errorf("all tasks: %q, %v", got, err)
	}
	long := Request{script: Script{Name: strings.Repeat("n", maxName+1)}}
	if got := long.jobName(); len(got) != maxName {
		t.Errorf("a name of %d bytes", len(got))
	}
	long.script.Name = strings.Repeat("n", maxName-1) + "é"
	if got := long.jobName(); len(got) != maxName-1 {
		t.Errorf("a name of %d bytes with half a letter", len(got))
	}
	most := []byte("#!/bin/sh\n" + strings.Repeat("x", MaxScript-10))
	if _, err := ParseScript("big.sh", most); err != nil {
		t.Error(err)
	}
}

// TestEnvironmentOfSluice: only sluice's options that describe the job are read from
// variables.
func TestEnvironmentOfSluice(t *testing.T) {
	r := merge(t, "job", []string{"SLUICE_TIME=5", "SLUICE_HOLD=1", "SLUICE_CHECKPOINT_DIR=/x", "SLUICE_USER=1", "SLUICE_CONFIG=/x", "SLUICE_GRACE=9", "SLURM_X=1", "SBATCH_NONSENSE"})
	if _, timed := r.TimeLimit(); timed || r.Hold || r.Spec.Grace != 9*time.Second || len(r.options) > 0 {
		t.Errorf("%+v", r)
	}
	for args, want := range map[string]string{"--hold --nice --mail=x --site=3 job": "[]", "--site job": "[--site]", "--site": "[--site]", "--epochs=3 -Q job": "[]"} {
		if c, err := ParseCommandLine(strings.Fields(args)); err != nil || fmt.Sprint(c.Unknown) != want {
			t.Errorf("%s: unknown %v, %v", args, c.Unknown, err)
		}
	}
}

// TestMeasuredOnOneSize: a measuring job is not held, waited for or retried, and its
// options for sbatch stand around the user's.
func TestMeasuredOnOneSize(t *testing.T) {
	r := merge(t, "-HW -J mine -t 5 --checkpoint-glob=x --checkpoint-marker=y --epochs=3 --profile=1,2 --retries=2 --min-gpus=1 --max-gpus=4 job", nil).Fixed(2, []string{"--before"}, []string{"--after"})
	if want := (Adopt{}); r.Adopt != want || r.Hold || r.Wait || !r.Quiet || r.Retries != "0" || r.Every != "off" || r.OnTimeout != "end" ||
		r.Spec.Min != 2 || r.Spec.Max != 2 || r.Spec.Total != 0 || r.Spec.Profile != nil || r.Spec.Habit {
		t.Errorf("%+v", r)
	}
	args, err := r.Args(Job{Token: token, Batch: "/b"})
	if text := strings.Join(args, " "); err != nil || !strings.HasSuffix(text, " --before -J mine -t 5 --after /b") || strings.Contains(text, "--job-name") {
		t.Errorf("%s, %v", text, err)
	}
}

// TestBatchOfStrangeArguments: arguments that sbatch would drop from a command line are
// written into the batch script, on a line of their own, and an unknown option stays next
// to its value.
func TestBatchOfStrangeArguments(t *testing.T) {
	r := merge(t, "job : b", nil, "#SBATCH --wait --site-thing value --hold")
	want := "#!/bin/sh\n#SBATCH --site-thing value --hold\nexec '/s' run -- '/x' ':' 'b'\n"
	if got := string(r.Batch(Job{Sluice: "/s", Script: "/x"})); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}
