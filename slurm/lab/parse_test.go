package lab

import (
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
)

func TestParseRelease(t *testing.T) {
	for text, want := range map[string]release{
		"slurm-wlm 22.05.8":          {22, 5, "22.05.8"},
		"slurm-wlm 20.11.4\n":        {20, 11, "20.11.4"},
		"slurm 24.11.5":              {24, 11, "24.11.5"},
		"slurm 25.05.0-0rc1":         {25, 5, "25.05.0-0rc1"},
		"warning: x\nslurm 26.05.5 ": {26, 5, "26.05.5"},
	} {
		if got, err := parseRelease(text); err != nil || got != want {
			t.Errorf("%q: %+v, %v", text, got, err)
		}
	}
	for _, bad := range []string{"", "slurm", "slurm 2.6.5", "slurm-wlm 2205.8"} {
		if got, err := parseRelease(bad); err == nil {
			t.Errorf("%q read as %+v", bad, got)
		}
	}
	r := release{Year: 23, Month: 11}
	if !r.atLeast(23, 11) || !r.atLeast(22, 5) || !r.atLeast(23, 2) || r.atLeast(24, 5) {
		t.Error("order of releases")
	}
}

func TestParseStat(t *testing.T) {
	const tail = " 1 100 100 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 9 0 777123 1000 10"
	for text, want := range map[string]process{
		"42 (slurmd) S" + tail:           {pid: 42, ppid: 1, start: 777123},
		"42 (a ) b) (c) Z" + tail + "\n": {pid: 42, ppid: 1, start: 777123, zombie: true},
	} {
		if got, err := parseStat(text); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%q: %+v, %v", text, got, err)
		}
	}
	for _, bad := range []string{"", "42", "42 (x)", "42 (x) S 1", "x (x) S" + tail, ")(", "42 (x) S y" + tail} {
		if got, err := parseStat(bad); err == nil {
			t.Errorf("%q read as %+v", bad, got)
		}
	}
	self, ok := readProcess(os.Getpid())
	if !ok || self.pid != os.Getpid() || self.ppid != os.Getppid() || self.start == 0 || !self.alive() {
		t.Errorf("this process read as %+v", self)
	}
}

// A process with a reused PID is not the same process.
func TestRecycledNumber(t *testing.T) {
	self, _ := readProcess(os.Getpid())
	self.start++
	if self.alive() {
		t.Error("another start time, yet the same process")
	}
	if err := self.signal(9); err != nil { // would end this test
		t.Error(err)
	}
}

func FuzzParseStat(f *testing.F) {
	f.Add("42 (a) S 1 100 100 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 9 0 777123 1000 10")
	f.Add(")(")
	f.Fuzz(func(t *testing.T, text string) {
		p, err := parseStat(text)
		if err != nil && !reflect.DeepEqual(p, process{}) {
			t.Errorf("both a process and an error: %+v, %v", p, err)
		}
	})
}

func TestParseNodes(t *testing.T) {
	got, err := parseNodes("gpu1|idle|gpu:4\ngpu2|down*|(null)\n\ngpu1|idle|gpu:4\n")
	want := []NodeStatus{{"gpu1", "idle", "gpu:4"}, {"gpu2", "down*", "(null)"}}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, %v", got, err)
	}
	for _, bad := range []string{"gpu1", "gpu1|idle", "|idle|x", "gpu1||x"} {
		if got, err := parseNodes(bad); err == nil {
			t.Errorf("%q read as %+v", bad, got)
		}
	}
}

func FuzzParseNodes(f *testing.F) {
	f.Add("gpu1|idle|gpu:4\ngpu2|down*|(null)\n")
	f.Fuzz(func(t *testing.T, text string) {
		nodes, err := parseNodes(text)
		for i, n := range nodes {
			if n.Name == "" || n.State == "" {
				t.Errorf("empty fields: %+v (%v)", n, err)
			}
			if slices.ContainsFunc(nodes[:i], func(o NodeStatus) bool { return o.Name == n.Name }) {
				t.Errorf("node %q twice", n.Name)
			}
		}
	})
}

func TestTrouble(t *testing.T) {
	up := []DaemonStatus{{"munged", 1}, {"slurmctld", 2}, {"slurmd-gpu1", 3}}
	idle := []NodeStatus{{"gpu1", "idle", ""}}
	for _, tc := range []struct {
		s    Status
		want string
	}{
		{Status{Daemons: up, Controller: true, Nodes: idle}, ""},
		{Status{Daemons: up, Controller: true, Nodes: []NodeStatus{{"gpu1", "mixed", ""}}}, ""},
		{Status{Daemons: []DaemonStatus{{"munged", 0}}}, "munged does not run"},
		{Status{Daemons: up}, "slurmctld does not answer"},
		{Status{Daemons: up, Controller: true}, "slurmctld lists no nodes"},
		{Status{Daemons: up, Controller: true, Nodes: []NodeStatus{{"gpu1", "idle*", ""}}}, "node gpu1 is idle*"},
		{Status{Daemons: up, Controller: true, Nodes: []NodeStatus{{"gpu1", "unknown", ""}}}, "node gpu1 is unknown"},
	} {
		if got := tc.s.Trouble(); got != tc.want || tc.s.Healthy() != (tc.want == "") {
			t.Errorf("%+v: %q, want %q", tc.s, got, tc.want)
		}
	}
}

func TestRuns(t *testing.T) {
	for _, tc := range []struct {
		args string
		name string
		want bool
	}{
		{"/usr/sbin/slurmd -D -N gpu1", "slurmd", true},
		{"/usr/sbin/slurmd-wlm -D", "slurmd", true},
		{"/usr/sbin/slurmdbd", "slurmd", false},
		{"vim /usr/sbin/slurmd", "slurmd", false},
		{"/t/lib/ld-linux-x86-64.so.2 --library-path /x /t/usr/sbin/slurmd -D", "slurmd", true},
		{"", "slurmd", false},
	} {
		if got := runs(process{args: strings.Fields(tc.args)}, tc.name); got != tc.want {
			t.Errorf("%q runs %s: %v", tc.args, tc.name, got)
		}
	}
	if !runs(process{args: []string{"slurmstepd: [7.batch]"}}, "slurmstepd") {
		t.Error("a renamed slurmstepd is not recognised")
	}
}

func TestLastLines(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log")
	long := strings.Repeat("an old line\n", 3000)
	if err := os.WriteFile(path, []byte(long+"last\x1b[31m but one\nlast\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := lastLines(path, 2); !reflect.DeepEqual(got, []string{`last\x1b[31m but one`, "last"}) {
		t.Errorf("%q", got)
	}
	if got := lastLines(path+"x", 2); len(got) != 1 || !strings.Contains(got[0], "no log") {
		t.Errorf("%q", got)
	}
}
