package main_test

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sluice-hpc/sluice/cmd/site"
	"github.com/sluice-hpc/sluice/elastic/control/wire"
)

// stolen is a word of the data. Nothing that anybody reads may have it.
const stolen = "ZQ7XWORDX7QZ"

// besieged are the accounts of TestConfinedHostile, in the order of vaulters.
var besieged = []string{"sluice-test-va", "sluice-test-oa", "sluice-test-ra", "sluice-test-na"}

// TestConfinedHostile: the program of a confined job writes a word of the data into all that it can write, on a real Slurm and
// in two sizes. Then the test searches for that word in what three accounts can read, the job's user, the data's owner and
// another one: every verb, Slurm's own tools, every file. Then a grant is revoked while a second job runs.
func TestConfinedHostile(t *testing.T) {
	t.Parallel()
	needsFence(t)
	s := playConfined(t, besieged, "/usr/bin/python3", "/usr/share")
	s.furnish()
	s.addData("secret.txt", []byte(stolen+"\n"))
	s.as(s.owner, "sluice", "data", "add", "mammo", "--path", s.data, "--readers", s.reader, "--release", "300KB/job,600KB/week")
	script := s.study(s.reader, "confined_hostile.py", "#SLUICE --data=mammo --epochs=100 --max-gpus=4 --retries=0\nexec "+s.python+" train.py")
	id, err := s.Submit(s.ctx, s.reader, script)
	s.must(err)
	j := &job{s: s.scene, id: id, user: s.reader}
	v := j.until("to train", func(v wire.Job) bool { return v.State == "RUNNING" && v.Move == nil && v.Speaks })
	number := fmt.Sprint(id)
	name := s.slurms(number, "JobName=", "Comment=")
	h := &hunt{confinedSite: s, number: number}
	h.all("running")
	s.as(s.reader, "sluice", "resize", number, "--gpus", "4")
	j.runsOn(4)
	s.as(s.reader, "sluice", "checkpoint", number, "--wait")
	h.all("resized")
	if now := s.slurms(number, "JobName=", "Comment="); now != name && !strings.HasPrefix(now, strings.Fields(name)[0]) {
		t.Errorf("its name was %s, and is %s", name, now)
	}
	s.must(site.Put(filepath.Join(s.vault, "jobs", v.Token, "inner", "end"), nil, 0o644))
	if state := j.ends(); state != "FAILED" {
		t.Errorf("it ended as %s", state)
	}
	if code := s.slurms(number, "ExitCode="); !strings.Contains(code, "1:0") {
		t.Errorf("the exit code is %s, want 1", code)
	}
	for i := range 2 { // fetched twice
		said, err := s.Run(s.ctx, s.reader, "sluice", "results", number, "-o", fmt.Sprintf("got%d", i))
		t.Logf("results (%v): %s", err, said)
	}
	h.all("ended")
	s.revoked(script)
	s.spent()
	t.Logf("%d reads by 3 accounts, %d of them had nothing to show, %d bytes; in %d the word", h.reads, h.refused, h.bytes, h.found)
	for _, w := range slices.Sorted(maps.Keys(h.ways)) {
		outcome := "closed"
		if h.open[w] {
			outcome = "open"
		}
		t.Logf("way: slurm %s: %s; ", outcome, w)
	}
	t.Logf("reliability: confined-ways %d", len(h.ways))
	t.Logf("reliability: confined-open %d", h.found)
}

// slurms returns fields of what Slurm shows of a job.
func (s *confinedSite) slurms(number string, fields ...string) string {
	s.t.Helper()
	var got []string
	for _, word := range strings.Fields(s.as(s.reader, "scontrol", "show", "job", number)) {
		for _, f := range fields {
			if strings.HasPrefix(word, f) {
				got = append(got, word)
			}
		}
	}
	return strings.Join(got, " ")
}

// revoked: a grant that is revoked in mid-run ends the job, and nothing of it leaves.
func (s *confinedSite) revoked(script string) {
	s.t.Helper()
	id, err := s.Submit(s.ctx, s.reader, script)
	s.must(err)
	j := &job{s: s.scene, id: id, user: s.reader}
	j.until("to train", func(v wire.Job) bool { return v.State == "RUNNING" && v.Speaks })
	s.as(s.owner, "sluice", "data", "revoke", "mammo", s.reader)
	if state := j.ends(); state != "CANCELLED" {
		s.t.Errorf("it ended as %s", state)
	}
	for _, verb := range []string{"logs", "results"} {
		if out, err := s.Run(s.ctx, s.reader, "sluice", verb, fmt.Sprint(id)); err == nil {
			s.t.Errorf("%s after the grant was revoked: %.300s", verb, out)
		}
	}
}

// spent: the owner's count is within the budget, and the record holds.
func (s *confinedSite) spent() {
	s.t.Helper()
	s.t.Logf("shown:\n%s", s.as(s.owner, "sluice", "data", "show", "mammo"))
	var cost int64
	s.as(s.owner, "sluice", "data", "audit", "mammo") // it verifies the record
	attempts := s.as(s.owner, "sluice", "data", "audit", "mammo", "--attempts")
	s.t.Logf("denied calls:\n%s", attempts)
	if !strings.Contains(attempts, "not counted") {
		for _, call := range []string{"ptrace", "mount", "socket(AF_VSOCK)"} {
			if !strings.Contains(attempts, call) {
				s.t.Errorf("%s is not in the record", call)
			}
		}
	}
	record, err := os.ReadFile(filepath.Join(s.vault, "record.jsonl"))
	s.must(err)
	for line := range strings.Lines(string(record)) {
		var e struct {
			Cost int64 `json:"cost"`
		}
		if json.Unmarshal([]byte(line), &e) == nil {
			cost += e.Cost
		}
	}
	s.t.Logf("%d bytes are counted", cost)
	s.t.Logf("reliability: confined-left %d", cost)
	s.t.Logf("reliability: confined-budget 600000")
	if cost == 0 || cost > 600_000 {
		s.t.Errorf("%d bytes are counted, 1 to 600000 may be\n%s", cost, record)
	}
}

// hunt searches for the word.
type hunt struct {
	*confinedSite
	number                       string
	ways, open                   map[string]bool
	reads, refused, bytes, found int
}

// all reads everything that the accounts can read.
func (h *hunt) all(when string) {
	h.t.Helper()
	if h.ways == nil {
		h.ways, h.open = map[string]bool{}, map[string]bool{}
	}
	n := h.number
	begun := time.Now()
	for _, who := range []string{h.reader, h.other, h.owner} {
		for _, argv := range [][]string{
			{"sluice", "queue"}, {"sluice", "queue", "--json"}, {"sluice", "show", n}, {"sluice", "show", "--json", n},
			{"sluice", "explain", n}, {"sluice", "explain", "--json", n}, {"sluice", "history", n}, {"sluice", "history", "--json", n},
			{"sluice", "status", "--json"}, {"sluice", "plan", "--json"}, {"sluice", "nodes", "--json"}, {"sluice", "shares", "--json"},
			{"sluice", "report", "--since", "1d"}, {"sluice", "report", "--since", "1d", "--json"}, {"sluice", "logs", n}, {"sluice", "logs", "--segment", "last", n},
			{"sluice", "data", "list"}, {"sluice", "data", "show", "mammo"},
			{"scontrol", "show", "job", "-dd", n}, {"scontrol", "show", "step", n}, {"scontrol", "show", "node"}, {"scontrol", "write", "batch_script", n, "-"},
			{"squeue", "-a", "-o", "%all"}, {"squeue", "-s"}, {"squeue", "--json"}, {"sacct", "-a", "-j", n, "-P", "-o", "all"}, {"sstat", "-a", "-j", n},
		} {
			out, err := h.Run(h.ctx, who, argv[0], argv[1:]...)
			h.look(when, who, strings.Replace(strings.Join(argv, " "), " "+n, " JOB", 1), out, err)
		}
		// all files that the account can read, and all names
		out, err := h.Run(h.ctx, who, "sh", "-c", fmt.Sprintf("find %s /tmp /dev/shm /var/tmp /var/mail -xdev -newer %s/sluice.toml 2>/dev/null | head -c 1000000", h.Lab.Dir(), h.Lab.Dir()))
		h.look(when, who, "names of files", out, err)
		forms := strings.Join(forms(), "|")
		out, err = h.Run(h.ctx, who, "sh", "-c", fmt.Sprintf("grep -rsaoE -D skip '%s' %s %s %s %s/got0 %s/got1; true", forms, h.Jobs, h.Outbox, h.Path("vault"), h.Home(h.reader), h.Home(h.reader)))
		h.look(when, who, "contents of files", out, err)
	}
	h.t.Logf("%s: read in %v", when, time.Since(begun).Round(time.Second))
}

func forms() []string {
	return []string{stolen, hex.EncodeToString([]byte(stolen)), strings.TrimRight(base64.StdEncoding.EncodeToString([]byte(stolen)), "="), fmt.Sprint(numberOf(stolen))}
}

// numberOf is the number that the program makes of the word.
func numberOf(word string) int64 {
	n := int64(0)
	for _, b := range []byte(word[:6]) {
		n = n<<8 | int64(b)
	}
	return n%90_000_000 + 10_000_000
}

// look searches one answer.
func (h *hunt) look(when, who, what, out string, err error) {
	h.t.Helper()
	h.reads++
	h.ways[what] = true
	if err != nil {
		h.refused++
		out += err.Error()
		if when == "running" && who == h.reader {
			h.t.Logf("%s by %s: %.200v", what, who, err)
		}
	}
	h.bytes += len(out)
	for _, form := range forms() {
		if at := strings.Index(out, form); at >= 0 {
			h.found++
			h.open[what] = true
			h.t.Errorf("%s: %s got it by %s: %q", when, who, what, out[max(0, at-200):min(len(out), at+200)])
			return
		}
	}
}
