package vault

import (
	"math"
	"slices"
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
	// The program chooses when it makes which call how often, and from which process.
	later := func(a Attempt, by time.Duration) Attempt {
		a.First, a.Last = a.First.Add(by), a.Last.Add(by)
		return a
	}
	mount := Attempt{Call: "mount", Count: 1, First: day0, Last: day0}
	one := []Attempt{calls(5, "patient-0815"), mount, calls(6, "patient-4711")}
	other := []Attempt{later(mount, 17*time.Minute), later(calls(15, "python3"), 31*time.Minute)}
	if _, is := s.Attempt(s.Job("bb"), one, "", true); is {
		t.Error("several owners are told while the job runs")
	}
	for _, e := range []Entry{{Event: Started, Job: "bb", JobID: 8}, {Event: Ended, Job: "bb"}} {
		if err := s.Apply(e); err != nil {
			t.Fatal(err)
		}
	}
	e, is := s.Attempt(s.Job("bb"), one, "", true)
	same, also := s.Attempt(s.Job("bb"), other, "", true)
	if !is || !also || len(e.Attempts) != 2 || e.Attempts[1].Process != "" || e.Attempts[1].Count != 8 || e.Attempts[0].Count != 1 {
		t.Errorf("to several owners: %+v", e.Attempts)
	}
	if !slices.Equal(e.Attempts, same.Attempts) {
		t.Errorf("several owners tell one from the other: %+v, %+v", e.Attempts, same.Attempts)
	}
}
