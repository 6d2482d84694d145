package vault

import (
	"math"
	"testing"
	"time"
)

// calls are denied calls of one name of a process.
func calls(count int64, process string) Attempt {
	return Attempt{Call: "ptrace", Process: process, Count: count, First: day0, Last: day0.Add(time.Minute)}
}

func TestAttempts(t *testing.T) {
	s := folded(t, append(append([]Entry{}, story...), Entry{Event: Added, By: "otto", Set: "retina", Path: "/vault/retina", Readers: []string{"ada"}, Release: "100B/job,1KB/week"},
		Entry{Event: Submitted, By: "ada", Job: "bb", Sets: []string{"mammo", "retina"}}))
	j := s.Job("aa")
	for _, c := range []struct {
		what      string
		counted   []Attempt
		uncounted string
		exact, is bool
	}{
		{"nothing", nil, "", true, false},
		{"the first", []Attempt{calls(10, "python3")}, "", false, true},
		{"the same", []Attempt{calls(10, "python3")}, "", true, false},
		{"a few more", []Attempt{calls(19, "python3")}, "", false, false},
		{"twice as many", []Attempt{calls(20, "python3")}, "", false, true},
		{"a few more, asked for", []Attempt{calls(21, "python3")}, "", true, true},
		{"fewer", []Attempt{calls(2, "python3")}, "", true, false},
		{"another process", []Attempt{calls(21, "python3"), calls(1, "bash")}, "", false, true},
		{"not counted", []Attempt{calls(21, "python3"), calls(1, "bash")}, "the kernel", false, true},
		{"endlessly many", []Attempt{calls(math.MaxInt64, "python3"), calls(math.MaxInt64, "bash")}, "the kernel", false, true},
	} {
		e, is := s.Attempt(j, c.counted, c.uncounted, c.exact)
		if is != c.is {
			t.Errorf("%s: recorded %v", c.what, is)
		}
		if is {
			if e.By != "ada" || e.Job != "aa" || e.JobID != 7 || !s.Concerns(e, "mammo") {
				t.Errorf("%s: %+v", c.what, e)
			}
			if err := s.Apply(e); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := s.Apply(Entry{Event: Attempted, Job: "aa", Attempts: []Attempt{calls(1, "x")}}); err == nil {
		t.Error("fewer calls are taken")
	}
	if err := s.Apply(Entry{Event: Attempted, Job: "aa", Attempts: []Attempt{calls(-1, "x")}}); err == nil {
		t.Error("a negative count is taken")
	}
	e, is := s.Attempt(s.Job("bb"), []Attempt{calls(5, "patient-0815"), {Call: "mount", Count: 1, First: day0, Last: day0}, calls(6, "patient-4711")}, "", true)
	if !is || len(e.Attempts) != 2 || e.Attempts[0].Process != "" || e.Attempts[0].Count != 8 || e.Attempts[1].Count != 1 {
		t.Errorf("to several owners: %+v", e.Attempts)
	}
}
