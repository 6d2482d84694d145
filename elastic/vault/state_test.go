package vault

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/sluice-hpc/sluice/elastic/vault/wire"
)

// folded is the state of entries; none may be refused.
func folded(t interface{ Fatal(...any) }, entries []Entry) *State {
	s := NewState()
	for _, e := range entries {
		if err := s.Apply(e); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

// counted is one entry of the model: what left, with what and when.
type counted struct {
	job, user string
	sets      []string
	bytes     int64
	at        time.Time
}

// TestBudgetHolds: jobs of several users with several data sets, parts of logs and files of them, clocks that jump, and a
// vaultd that is killed at any entry. Whatever the order, what leaves with a job never exceeds the
// budget of a job, and what leaves with a user's jobs never that of any window.
func TestBudgetHolds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		budgets := map[string]Release{}
		var record []Entry
		s := NewState()
		now, last := day0, day0
		var out []counted
		early := map[string]bool{} // the job's numbers left at its start, not at its end
		write := func(e Entry) {
			e.Time = s.Now(now)
			if e.Time.Before(last) {
				t.Fatalf("time goes back from %v to %v", last, e.Time)
			}
			last = e.Time
			if err := s.Apply(e); err != nil {
				t.Fatal(err)
			}
			record = append(record, e)
		}
		for i := range rapid.IntRange(1, 3).Draw(t, "sets") {
			name := fmt.Sprintf("set%d", i)
			text := fmt.Sprintf("%dB/job,%dB/day", rapid.IntRange(1, 400).Draw(t, "job"), rapid.IntRange(1, 1000).Draw(t, "user"))
			budgets[name], _ = ParseRelease(text)
			write(Entry{Event: Added, By: "hanna", Set: name, Path: "/vault/" + name, Readers: []string{"ada", "bob"}, Release: text})
		}
		names := make([]string, 0, len(budgets))
		for name := range budgets {
			names = append(names, name)
		}
		slices.Sort(names)
		for n := range rapid.IntRange(0, 60).Draw(t, "steps") {
			now = now.Add(time.Duration(rapid.IntRange(-40, 50).Draw(t, "times")) * rapid.SampledFrom([]time.Duration{5 * time.Second, 17 * time.Minute}).Draw(t, "step"))
			act := rapid.SampledFrom([]string{"submit", "log", "log", "file", "file", "change", "refuse", "start", "end", "crash"}).Draw(t, "act")
			if act == "submit" {
				user := rapid.SampledFrom([]string{"ada", "bob"}).Draw(t, "user")
				sets := names[:rapid.IntRange(1, len(names)).Draw(t, "of")]
				cost := int64(rapid.IntRange(0, 100).Draw(t, "numbers"))
				if id := fmt.Sprint("job", n); cost <= s.Room("", user, sets, now) {
					write(Entry{Event: Submitted, By: user, Job: id, Sets: sets, Cost: cost})
				}
				continue
			}
			if act == "crash" {
				s = folded(t, record)
			}
			if len(s.Jobs()) == 0 {
				continue
			}
			j := rapid.SampledFrom(s.Jobs()).Draw(t, "which")
			size := int64(rapid.IntRange(0, 200).Draw(t, "size"))
			runs := j.State == wire.StateStarted || j.State == wire.StateEnded
			leaves := func(e Entry) {
				if s.Fits(j, e.Cost, now) {
					write(e)
					out = append(out, counted{j.ID, j.User, j.Sets, e.Cost, last})
				}
			}
			switch name := fmt.Sprint(rapid.IntRange(0, 3).Draw(t, "file"), ".pt"); {
			case act == "start" && j.State == wire.StateSubmitted:
				write(Entry{Event: Started, Job: j.ID, JobID: int64(n) + 1})
				early[j.ID] = rapid.Bool().Draw(t, "numbers leave at once")
				if early[j.ID] {
					out = append(out, counted{j.ID, j.User, j.Sets, j.Numbers, last})
				}
			case act == "refuse" && j.State == wire.StateSubmitted:
				write(Entry{Event: Refused, Job: j.ID})
			case act == "end" && j.State == wire.StateStarted:
				write(Entry{Event: Ended, Job: j.ID})
				if !early[j.ID] {
					out = append(out, counted{j.ID, j.User, j.Sets, j.Numbers, last})
				}
			case act == "log" && runs:
				leaves(Entry{Event: Logged, Job: j.ID, Size: size, Raw: size, Cost: LogCost(size)})
			case act == "change" && runs:
				if f := j.Files[name]; f != nil && f.State == wire.FileReleased && !f.Changed {
					leaves(Entry{Event: Changed, Job: j.ID, File: name, Cost: ChangeCost})
				}
			case act == "file" && runs:
				if f := j.Files[name]; f == nil || f.State != wire.FileReleased {
					leaves(Entry{Event: Released, Job: j.ID, File: name, Size: size, Digest: "d", Cost: FileCost(name, size, f != nil)})
				}
			}
		}
		for _, j := range s.Jobs() {
			if j.State == wire.StateStarted && !early[j.ID] {
				out = append(out, counted{j.ID, j.User, j.Sets, j.Numbers, s.Now(now)})
			}
		}
		holds(t, budgets, out)
	})
}

// holds checks what left against the budgets, window by window.
func holds(t *rapid.T, budgets map[string]Release, out []counted) {
	for name, budget := range budgets {
		byJob := map[string]int64{}
		for _, c := range out {
			if !slices.Contains(c.sets, name) {
				continue
			}
			if byJob[c.job] += c.bytes; byJob[c.job] > budget.Job {
				t.Fatalf("%s: %d bytes left with %s, the budget is %s", name, byJob[c.job], c.job, budget.Text)
			}
			window := int64(0)
			for _, other := range out {
				if other.user == c.user && slices.Contains(other.sets, name) && !other.at.After(c.at) && other.at.After(c.at.Add(-budget.Window)) {
					window += other.bytes
				}
			}
			if window > budget.User {
				t.Fatalf("%s: %d bytes left with jobs of %s in a window, the budget is %s", name, window, c.user, budget.Text)
			}
		}
	}
}

// A file that was released is counted once; what contradicts the record is refused, and changes nothing.
func TestApplyRefuses(t *testing.T) {
	released := append(slices.Clone(story), Entry{Time: day0, Event: Released, Job: "aa", File: "m.pt", Size: 5, Digest: "d", Cost: 7})
	for name, e := range map[string]Entry{
		"released twice":     {Event: Released, Job: "aa", File: "m.pt", Size: 5, Cost: 7},
		"changed, not there": {Event: Changed, Job: "aa", File: "x.pt", Cost: ChangeCost},
		"told after it left": {Event: Told, Job: "aa", File: "m.pt", State: wire.FileKept},
		"a second start":     {Event: Started, Job: "aa", JobID: 8},
		"refused, started":   {Event: Refused, Job: "aa"},
		"unknown job":        {Event: Logged, Job: "bb"},
		"unknown event":      {Event: "given away", Job: "aa"},
		"unknown set":        {Event: Granted, Set: "lungs"},
		"added twice":        {Event: Added, By: "eve", Set: "mammo", Path: "/x", Release: "1B/job,1B/day"},
		"submitted twice":    {Event: Submitted, By: "ada", Job: "aa", Sets: []string{"mammo"}},
		"set named twice":    {Event: Submitted, By: "ada", Job: "bb", Sets: []string{"mammo", "mammo"}},
		"reviewed by none":   {Event: Reviewed, Job: "aa", File: "x", Set: "mammo", State: wire.Allow},
	} {
		s := folded(t, released)
		before := *s.Job("aa")
		if err := s.Apply(e); err == nil {
			t.Errorf("%s: no error", name)
		}
		if after := *s.Job("aa"); after.Counted != before.Counted || after.State != before.State || s.Set("mammo").Owner != "hanna" {
			t.Errorf("%s: changed", name)
		}
	}
}

// Before a job started nothing of it leaves; what a refused submission reserved is free again.
func TestRefusedGivesBack(t *testing.T) {
	s := folded(t, story[:2])
	if err := s.Apply(Entry{Event: Logged, Job: "aa", Cost: 1}); err == nil {
		t.Error("the log of a job left that was not started")
	}
	if room := s.Room("aa", "ada", []string{"mammo"}, day0); room != 90 {
		t.Errorf("room for %d bytes, want 90", room)
	}
	if err := s.Apply(Entry{Time: day0, Event: Refused, Job: "aa"}); err != nil {
		t.Fatal(err)
	}
	if room := s.Room("", "ada", []string{"mammo"}, day0); room != 100 {
		t.Errorf("room for %d bytes, want 100", room)
	}
	if u := s.Uses("mammo", day0); len(u) != 1 || u[0].Window != 0 {
		t.Errorf("uses %+v", u)
	}
}

// A clock that is set back opens no window; one that goes on does.
func TestWindow(t *testing.T) {
	s := folded(t, []Entry{
		{Time: day0, Event: Added, By: "hanna", Set: "m", Path: "/v", Release: "100B/job,100B/day"},
		{Time: day0, Event: Submitted, By: "ada", Job: "a", Sets: []string{"m"}, Cost: 30},
		{Time: day0, Event: Started, Job: "a", JobID: 1},
		{Time: day0, Event: Logged, Job: "a", Size: 62, Cost: 70},
	})
	if room := s.Room("", "ada", []string{"m"}, day0.Add(48*time.Hour)); room != 70 {
		t.Errorf("room for %d bytes, want 70: numbers of a job that runs may leave at any time", room)
	}
	if err := s.Apply(Entry{Time: day0, Event: Ended, Job: "a"}); err != nil {
		t.Fatal(err)
	}
	for after, want := range map[time.Duration]int64{-48 * time.Hour: 0, 0: 0, 24*time.Hour - 1: 0, 24 * time.Hour: 100} {
		if room := s.Room("", "ada", []string{"m"}, day0.Add(after)); room != want {
			t.Errorf("after %v: room for %d bytes, want %d", after, room, want)
		}
	}
	for numbers, want := range map[int64]int64{0: MaxBytes, 30: 3, 50: 2, 100: 1, 101: 0} {
		if jobs := s.Hold("bob", []string{"m"}, numbers, day0); jobs != want {
			t.Errorf("of %d bytes the numbers of %d jobs fit, want %d", numbers, jobs, want)
		}
	}
	if room := s.Room("", "bob", []string{"m"}, day0); room != 100 {
		t.Errorf("another user has room for %d bytes", room)
	}
	if room := s.Room("", "ada", []string{"m", "gone"}, day0.Add(48*time.Hour)); room != 0 {
		t.Errorf("with an unknown data set there is room for %d bytes", room)
	}
}

// A month of logs that are read each second is summed up in so many parts, and each of them counts as long as it must: no
// byte leaves the window early, and none stays longer than the thousandth part of it.
func TestWindowIsShort(t *testing.T) {
	s := folded(t, []Entry{
		{Time: day0, Event: Added, By: "hanna", Set: "m", Path: "/v", Release: "1GB/job,1GB/day"},
		{Time: day0, Event: Submitted, By: "ada", Job: "a", Sets: []string{"m"}},
		{Time: day0, Event: Started, Job: "a", JobID: 1},
	})
	const every, n = 9 * time.Second, 30_000 // three days
	most := 0
	for i := range n {
		if err := s.Apply(Entry{Time: day0.Add(time.Duration(i) * every), Event: Logged, Job: "a", Cost: 1}); err != nil {
			t.Fatal(err)
		}
		most = max(most, len(s.uses["m"]["ada"].parts))
	}
	if most > 2*steps {
		t.Errorf("%d parts", most)
	}
	last := day0.Add((n - 1) * every)
	for _, later := range []time.Duration{0, time.Hour + 33*time.Second, 12*time.Hour + 40*time.Second, 23*time.Hour + time.Second} {
		exact := int64((24*time.Hour - later + every - 1) / every)
		slack := int64(24*time.Hour/steps/every) + 1
		if got := s.Uses("m", last.Add(later))[0].Window; got < exact || got > exact+slack {
			t.Errorf("after %v: %d bytes count, want %d and at most %d more", later, got, exact, slack)
		}
	}
	if got := s.Uses("m", last.Add(24*time.Hour))[0].Window; got != 0 {
		t.Errorf("after a window %d bytes count", got)
	}
}

func TestDecide(t *testing.T) {
	s := folded(t, []Entry{
		{Time: day0, Event: Added, By: "hanna", Set: "m", Path: "/v", Release: "1KB/job,1KB/day"},
		{Time: day0, Event: Added, By: "otto", Set: "n", Path: "/w", Release: "1KB/job,1KB/day", Kinds: []string{"*.txt"}},
		{Time: day0, Event: Submitted, By: "ada", Job: "a", Sets: []string{"m", "n"}},
		{Time: day0, Event: Started, Job: "a", JobID: 1},
		{Time: day0, Event: Ended, Job: "a"},
		{Time: day0, Event: Told, Job: "a", File: "sub/m.pt", Digest: "d", State: wire.FileKept},
	})
	j := s.Job("a")
	review := func(set, digest, order string) {
		if err := s.Apply(Entry{Time: day0, Event: Reviewed, Job: "a", File: "sub/m.pt", Set: set, Digest: digest, State: order}); err != nil {
			t.Fatal(err)
		}
	}
	want := func(when, file, digest, state string) {
		t.Helper()
		if got := s.Decide(j, file, digest); got != state {
			t.Errorf("%s: %s is %s, want %s", when, file, got, state)
		}
	}
	want("at first", "sub/m.pt", "d", wire.FileKept) // n releases *.txt only
	want("at first", "x.txt", "d", wire.FileKept)    // m does not
	told := func(digest, state string) {
		if err := s.Apply(Entry{Time: day0, Event: Told, Job: "a", File: "sub/m.pt", Digest: digest, State: state}); err != nil {
			t.Fatal(err)
		}
	}
	may := func(when string, want bool) {
		t.Helper()
		if got := s.MayLeave(j, "sub/m.pt"); got != want {
			t.Errorf("%s: it may leave: %v", when, got)
		}
	}
	may("at first", false)
	review("n", "d", wire.Allow)
	may("allowed", true)
	want("allowed", "sub/m.pt", "d", wire.FileReleased)
	want("changed since", "sub/m.pt", "e", wire.FileKept)
	told("e", wire.FileKept)
	want("changed, and told of", "sub/m.pt", "e", wire.FileKept)
	want("as it was again", "sub/m.pt", "d", wire.FileReleased)
	told("", wire.FileOver)
	want("over the budget in between", "sub/m.pt", "d", wire.FileReleased)
	want("not read", "sub/m.pt", "", wire.FileKept)
	review("m", "d", wire.Refuse)
	want("refused by the other", "sub/m.pt", "d", wire.FileRefused)
	told("f", wire.FileKept)
	want("changed after it was refused", "sub/m.pt", "f", wire.FileKept)
	if err := s.Apply(Entry{Event: Reviewed, Job: "a", File: "sub/m.pt", Set: "m", State: wire.Allow}); err == nil {
		t.Error("an order about no content is taken")
	}
}

func TestMayRead(t *testing.T) {
	s := Set{Owner: "hanna", Readers: []string{"ada", "@radiology"}}
	for _, c := range []struct {
		user   string
		groups []string
		want   bool
	}{
		{"ada", nil, true}, {"hanna", nil, true}, {"bob", []string{"staff", "radiology"}, true}, {"bob", []string{"staff", ""}, false},
		{"radiology", nil, false}, {"", nil, false},
	} {
		if got := s.MayRead(c.user, c.groups); got != c.want {
			t.Errorf("%s of %v: %v", c.user, c.groups, got)
		}
	}
}

func TestCheckSet(t *testing.T) {
	good := Set{Name: "mammo-2", Path: "/vault/mammo", Readers: []string{"ada", "@radiology"}, Nodes: "safe", Kinds: []string{"*.pt"}}
	if err := good.Check(); err != nil {
		t.Error(err)
	}
	for what, change := range map[string]func(*Set){
		"name":    func(s *Set) { s.Name = "../x" },
		"capital": func(s *Set) { s.Name = "Mammo" },
		"flag":    func(s *Set) { s.Name = "-x" },
		"no name": func(s *Set) { s.Name = "" },
		"path":    func(s *Set) { s.Path = "vault" },
		"dots":    func(s *Set) { s.Path = "/vault/../etc" },
		"root":    func(s *Set) { s.Path = "/" },
		"escape":  func(s *Set) { s.Path = "/vault/\x1b[2J" },
		"nodes":   func(s *Set) { s.Nodes = "safe|unsafe" },
		"kind":    func(s *Set) { s.Kinds = []string{"[a"} },
		"slash":   func(s *Set) { s.Kinds = []string{"a/*"} },
		"reader":  func(s *Set) { s.Readers = []string{"a b"} },
		"many":    func(s *Set) { s.Readers = slices.Repeat([]string{"a"}, maxReaders+1) },
	} {
		bad := good
		if change(&bad); bad.Check() == nil {
			t.Errorf("%s: no error", what)
		}
	}
}
