package main

import (
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/sluice-hpc/sluice/checkpoint/confine"
	packer "github.com/sluice-hpc/sluice/cmd/bundle"
	"github.com/sluice-hpc/sluice/elastic/vault"
	"github.com/sluice-hpc/sluice/elastic/vault/wire"
	"github.com/sluice-hpc/sluice/slurm"
)

// An owner adds a data set, a user trains on it and gets the log and the model; each byte counts once.
func TestTheWholeWay(t *testing.T) {
	l := newLab(t)
	l.add("mammo", "5KB/job,10KB/week")
	if a, _ := l.get(ada, wire.Request{Do: wire.List}); len(a.Sets) != 1 || a.Sets[0].Name != "mammo" || a.Sets[0].Path != "" || a.Sets[0].Owner != "hanna" {
		t.Errorf("ada's list: %+v", a.Sets)
	}
	if a, _ := l.get(eve, wire.Request{Do: wire.List}); len(a.Sets) != 0 {
		t.Errorf("eve's list: %+v", a.Sets)
	}
	id := l.submit(ada, "--job-name=net")
	if got := l.counted(id); got != 1000 {
		t.Errorf("%d bytes count after the submission, want 1000 for numbers", got)
	}

	l.put(id, logName, "epoch 1\r\n\x1b[31mloss .5\x1b[0m\n")
	a, text := l.get(ada, wire.Request{Do: wire.Logs, Job: id})
	if text != "epoch 1\nloss .5\n" || a.Next != int64(len(text)) || a.Ended {
		t.Errorf("log %q, %+v", text, a)
	}
	if got := l.counted(id); got != 1000+16+8 {
		t.Errorf("%d bytes count with the log", got)
	}
	l.put(id, "out/model.pt", strings.Repeat("m", 1000))
	l.put(id, "out/sub/notes.txt", "notes")
	l.refused(wire.ErrConflict, "has not ended", ada, wire.Request{Do: wire.Results, Job: "1"})
	l.end(id)

	for range 2 { // the second time nothing is counted
		if a, text = l.get(ada, wire.Request{Do: wire.Logs, Job: "1"}); text != "epoch 1\nloss .5\n" {
			t.Errorf("log again: %q", text)
		}
		a, raw := l.get(ada, wire.Request{Do: wire.Results, Job: id})
		if got := l.files(raw); len(got) != 1 || got["model.pt"] != strings.Repeat("m", 1000) {
			t.Errorf("files %v", slices.Collect(maps.Keys(got)))
		}
		if got := states(a.Files); got["model.pt"] != wire.FileReleased || got["sub/notes.txt"] != wire.FileKept || len(got) != 2 {
			t.Errorf("states %v", got)
		}
		want := 1000 + 24 + vault.FileCost("model.pt", 1000, false) + vault.NameCost("sub/notes.txt")
		if got := l.counted(id); got != want {
			t.Errorf("%d bytes count, want %d", got, want)
		}
	}
	if a, _ = l.get(ada, wire.Request{Do: wire.Logs, Job: id, From: 16}); !a.Ended || a.Over {
		t.Errorf("the end of the log: %+v", a)
	}

	kept, _ := l.get(hanna, wire.Request{Do: wire.Review, Name: "mammo"})
	if len(kept.Kept) != 1 || kept.Kept[0].Name != "sub/notes.txt" || kept.Kept[0].User != "ada" || kept.Kept[0].Size != 5 {
		t.Fatalf("kept: %+v", kept.Kept)
	}
	left, _ := l.get(hanna, wire.Request{Do: wire.Review, Name: "mammo", Job: id, File: "sub/notes.txt", Order: wire.Allow})
	if len(left.Kept) != 0 {
		t.Errorf("still kept: %+v", left.Kept)
	}
	if _, raw := l.get(ada, wire.Request{Do: wire.Results, Job: id, File: "sub/notes.txt"}); l.files(raw)["sub/notes.txt"] != "notes" {
		t.Error("what the owner allowed does not leave")
	}

	show, _ := l.get(hanna, wire.Request{Do: wire.Show, Name: "mammo"})
	if len(show.Uses) != 1 || show.Uses[0].User != "ada" || show.Uses[0].Released != l.counted(id) {
		t.Errorf("uses: %+v", show.Uses)
	}
	audit, lines := l.get(hanna, wire.Request{Do: wire.Audit, Name: "mammo"})
	if !audit.Whole || audit.Lines != len(l.entries()) || !strings.Contains(lines, `"event":"released"`) || strings.Count(lines, "\n") != audit.Lines {
		t.Errorf("audit: %+v\n%s", audit, lines)
	}
	if jobs, _ := l.get(ada, wire.Request{Do: wire.Jobs}); len(jobs.Jobs) != 1 || jobs.Jobs[0].State != wire.StateEnded || jobs.Jobs[0].JobID != 1 {
		t.Errorf("jobs: %+v", jobs.Jobs)
	}
}

// TestSiteNetwork: where the programs of jobs reach the network of the site, each job's fence and entry of the record say so, and
// the owner is told how many jobs could send bytes that no budget counts.
func TestSiteNetwork(t *testing.T) {
	l := newLab(t)
	l.add("mammo", "5KB/job,10KB/week")
	before := l.submit(ada)
	l.s.site.Data.Network = "site"
	during := l.submit(ada)
	l.s.site.Data.Network = "none"
	after := l.submit(bob)
	for id, want := range map[string]string{before: "", during: confine.OfSite, after: ""} {
		f, err := confine.Read(filepath.Join(l.s.site.Data.Root, "jobs", id, confine.FenceFile))
		if err != nil || f.Network != want {
			t.Errorf("the fence of %s has the network %q, want %q (%v)", id, f.Network, want, err)
		}
		for _, e := range l.entries() {
			if e.Event == vault.Submitted && e.Job == id && e.Network != want {
				t.Errorf("the record says %q of the network of %s, want %q", e.Network, id, want)
			}
		}
	}
	show, _ := l.get(hanna, wire.Request{Do: wire.Show, Name: "mammo"})
	if len(show.Uses) != 2 || show.Uses[0].Open != 1 || show.Uses[1].Open != 0 {
		t.Errorf("uses: %+v", show.Uses)
	}
	l.open() // the record is read again
	if again, _ := l.get(hanna, wire.Request{Do: wire.Show, Name: "mammo"}); len(again.Uses) != 2 || again.Uses[0].Open != 1 {
		t.Errorf("uses after a restart: %+v", again.Uses)
	}
	if vault.OfSite != confine.OfSite {
		t.Errorf("the record calls it %q, and the fence %q", vault.OfSite, confine.OfSite)
	}
}

// TestResultsAtTheEnd: who waited for a job's end gets its results at once, though Slurm was asked shortly before that end, and
// while its nodes are cleaned up.
func TestResultsAtTheEnd(t *testing.T) {
	l := newLab(t)
	l.add("mammo", "5KB/job,10KB/week")
	id := l.submit(ada)
	l.put(id, "out/a.pt", "a")
	l.refused(wire.ErrConflict, "has not ended", ada, wire.Request{Do: wire.Results, Job: id})
	l.mu.Lock()
	l.ended[id], l.cleaned = true, 2
	l.mu.Unlock()
	l.s.listed.at = time.Now().Add(-askedAgain) // it was asked a second ago
	if a, _ := l.get(ada, wire.Request{Do: wire.Results, Job: id}); len(a.Files) != 1 {
		t.Errorf("%+v", a)
	}
}

// TestArray: each task of an array is a job of its own, with its own folders and its part of the budget; all have the script and
// the code of the first, and nobody makes a job a task of another user's array.
func TestArray(t *testing.T) {
	l := newLab(t)
	l.add("mammo", "5KB/job,10KB/week")
	q, body := submissionOf(codeOf(t), "--array=0-4:2")
	q.Task = &wire.Task{}
	first, _ := l.get(ada, q, body...)
	if args := l.args(); !slices.Contains(args, "--task=0_0") {
		t.Errorf("the first task is submitted with %q", args)
	}
	next := q
	next.ScriptSize, next.BundleSize, next.Task = 0, 0, &wire.Task{Of: first.ID, Index: 2}
	second, _ := l.get(ada, next)
	if args := l.args(); !slices.Contains(args, "--task=1_2") || !slices.Contains(args, "--token="+second.ID) || slices.Index(args, "--task=1_2") > slices.Index(args, "--for=ada") {
		t.Errorf("the second task is submitted with %q", args)
	}
	folder := func(id string) string { return l.s.vault.jobFolder(id) }
	f, err := confine.Read(filepath.Join(folder(second.ID), confine.FenceFile))
	if err != nil || f.Code != filepath.Join(folder(first.ID), codeName) || f.Output != filepath.Join(folder(second.ID), outName) || f.Inner != filepath.Join(folder(second.ID), innerName) {
		t.Errorf("the fence of the second task: %+v, %v", f, err)
	}
	if data, err := os.ReadFile(filepath.Join(folder(second.ID), scriptName)); err != nil || string(data) != script {
		t.Errorf("its script: %q, %v", data, err)
	}
	var entries []vault.Entry
	for _, e := range l.entries() {
		if e.Event == vault.Submitted {
			entries = append(entries, e)
		}
	}
	if len(entries) != 2 || entries[0].Digest != entries[1].Digest || entries[0].Bundle != entries[1].Bundle || entries[1].Cost == 0 ||
		*entries[0].Task != (wire.Task{}) || *entries[1].Task != (wire.Task{Of: first.ID, Index: 2}) {
		t.Errorf("the record: %+v", entries)
	}

	wrong := func(change func(q *wire.Request), code error, words string, uid uint32, body ...string) {
		t.Helper()
		q := next
		q.Task = &wire.Task{Of: first.ID, Index: 4}
		change(&q)
		l.refused(code, words, uid, q, body...)
	}
	wrong(func(*wire.Request) {}, wire.ErrNotFound, "no job", bob)
	wrong(func(q *wire.Request) { q.Task.Of = strings.Repeat("0", 32) }, wire.ErrNotFound, "no job", ada)
	wrong(func(q *wire.Request) { q.Task.Index = 3 }, wire.ErrBadRequest, "no task 3", ada)
	wrong(func(q *wire.Request) { q.Options = nil }, wire.ErrBadRequest, "part of no array", ada)
	wrong(func(q *wire.Request) { q.ScriptSize = int64(len(script)) }, wire.ErrBadRequest, "of the first", ada, script)
	l.add("lungs", "5KB/job,10KB/week")
	wrong(func(q *wire.Request) { q.Data = []string{"lungs"} }, wire.ErrBadRequest, "with these data sets", ada)
	wrong(func(q *wire.Request) { q.Task.Of = second.ID }, wire.ErrBadRequest, "no first task", ada)
	single := l.submit(ada)
	wrong(func(q *wire.Request) { q.Task.Of = single }, wire.ErrBadRequest, "no first task", ada)
	over, _ := l.get(ada, q, body...)
	l.end(over.ID)
	l.get(ada, wire.Request{Do: wire.Jobs})
	wrong(func(q *wire.Request) { q.Task.Of = over.ID }, wire.ErrBadRequest, "no first task", ada)
	alone := q
	alone.Task = nil
	l.refused(wire.ErrBadRequest, "is one job", ada, alone, body...)
	l.must(os.Chmod(filepath.Join(folder(first.ID), scriptName), 0o700))
	l.must(os.WriteFile(filepath.Join(folder(first.ID), scriptName), []byte(script+"# changed\n"), 0o700))
	q = next
	q.Task = &wire.Task{Of: first.ID, Index: 4}
	if _, _, err := l.ask(ada, q); err == nil {
		t.Error("a script that was changed in the vault is submitted")
	}
}

// An array of which not all tasks would be taken is refused at its first, before anything counts: cancelled jobs count for a window.
func TestArrayAsAWhole(t *testing.T) {
	l := newLab(t)
	l.add("mammo", "5KB/job,10KB/week") // of 1 KB for each job
	l.s.tasks = newPace(4, time.Hour)
	q, body := submissionOf(codeOf(t), "--array=0-10")
	q.Task = &wire.Task{}
	l.refused(wire.ErrOverBudget, "hold those of 10 tasks now", ada, q, body...)
	lines := len(l.entries())
	q.Options = []string{"--array=0-9"} // more than are ever taken at once: its client waits
	first, _ := l.get(ada, q, body...)
	next := q
	next.ScriptSize, next.BundleSize, next.Task = 0, 0, &wire.Task{Of: first.ID, Index: 1}
	l.get(ada, next)
	q.Options = []string{"--array=0-4"}
	l.refused(wire.ErrTooMany, "4 more are taken now", ada, q, body...)
	q.Options = []string{"--array=0-3"}
	l.get(ada, q, body...)
	q.Options = []string{"--array=0"}
	l.get(ada, q, body...)
	if lines != 1 {
		t.Errorf("%d entries of an array that was refused", lines-1)
	}
}

// What another user may not do is refused as if there were nothing, and is in the record.
func TestOthersAreRefused(t *testing.T) {
	l := newLab(t)
	l.add("mammo", "5KB/job,10KB/week")
	id := l.submit(ada)
	l.put(id, logName, "text\n")
	l.put(id, "out/model.pt", "model")
	l.end(id)
	before := l.counted(id)
	for _, uid := range []uint32{hanna, bob, eve} {
		for _, job := range []string{id, "1"} {
			for _, do := range []wire.Verb{wire.Logs, wire.Results, wire.Cancel} {
				l.refused(wire.ErrNotFound, "no job", uid, wire.Request{Do: do, Job: job})
			}
		}
	}
	for _, do := range []wire.Verb{wire.Audit, wire.Grant, wire.Revoke, wire.Review} {
		q := wire.Request{Do: do, Name: "mammo", Readers: []string{"eve"}}
		l.refused(wire.ErrNotFound, "no data set", eve, q)
		l.refused(wire.ErrDenied, "belongs to hanna", ada, q)
		q.Name = "nothing"
		l.refused(wire.ErrNotFound, "no data set", hanna, q)
	}
	l.refused(wire.ErrNotFound, "no data set", eve, wire.Request{Do: wire.Show, Name: "mammo"})
	q, body := submissionOf("")
	l.refused(wire.ErrNotFound, "no data set", eve, q, body...)
	l.refused(wire.ErrDenied, "has no name", 77, wire.Request{Do: wire.List})
	if got := l.counted(id); got != before {
		t.Errorf("refused requests count %d bytes", got-before)
	}
	denied := 0
	for _, e := range l.entries() {
		if e.Event == vault.Denied && e.By == "eve" && e.Do != "" {
			denied++
		}
	}
	if denied != 11 { // 6 about the job, 4 about the data set, the submission
		t.Errorf("%d refused requests of eve are in the record, want 11", denied)
	}
	l.submit(bob) // of the group radiology
}

// A folder is added by a user to whom the administrator gave it, if it is the service account's alone.
func TestAddRefuses(t *testing.T) {
	l := newLab(t)
	l.add("mammo", "5KB/job,10KB/week")
	sets := filepath.Join(l.dir, "sets")
	l.must(os.Symlink(filepath.Join(sets, "private"), filepath.Join(sets, "link")))
	l.must(os.Mkdir(filepath.Join(sets, "open"), 0o755))
	l.must(os.Chmod(filepath.Join(sets, "open"), 0o755))
	l.must(os.Mkdir(filepath.Join(sets, "mammo", "below"), 0o700))
	l.must(os.WriteFile(filepath.Join(sets, "file"), nil, 0o600))
	add := func(name, path, release string) wire.Request {
		return wire.Request{Do: wire.Add, Set: &wire.Set{Name: name, Path: path, Release: release}}
	}
	const budget = "1KB/job,1KB/day"
	l.refused(wire.ErrDenied, "not below a folder", eve, add("x", sets+"/private", budget))
	l.refused(wire.ErrDenied, "not below a folder", hanna, add("x", "/etc", budget))
	l.refused(wire.ErrDenied, "not below a folder", hanna, add("x", l.dir+"/vault", budget))
	l.refused(wire.ErrConflict, "already", hanna, add("mammo", sets+"/private", budget))
	l.refused(wire.ErrConflict, "another owner", ada, add("mine", sets+"/mammo", budget))
	l.refused(wire.ErrConflict, "another owner", ada, add("mine", sets+"/mammo/below", budget))
	l.refused(wire.ErrConflict, "another owner", ada, add("mine", sets, budget))
	l.refused(wire.ErrBadRequest, "symbolic link", hanna, add("x", sets+"/link", budget))
	l.refused(wire.ErrBadRequest, "mode 0755", hanna, add("x", sets+"/open", budget))
	l.refused(wire.ErrBadRequest, "not a folder", hanna, add("x", sets+"/file", budget))
	l.refused(wire.ErrBadRequest, "no such file", hanna, add("x", sets+"/nothing", budget))
	l.must(os.Chmod(sets, 0o770))
	l.refused(wire.ErrBadRequest, "others can exchange folders in "+sets, hanna, add("x", sets+"/private", budget))
	l.must(os.Chmod(sets, 0o700))
	if os.Geteuid() == 0 {
		l.must(os.Chown(sets, int(hanna), -1))
		l.refused(wire.ErrBadRequest, "others can exchange folders in "+sets, hanna, add("x", sets+"/private", budget))
		l.must(os.Chown(sets, 0, -1))
	}
	l.refused(wire.ErrBadRequest, "column 5", hanna, add("x", sets+"/private", "1KB/jib,1KB/day"))
	l.refused(wire.ErrBadRequest, "lower-case", hanna, add("../x", sets+"/private", budget))
	l.refused(wire.ErrBadRequest, "no data set", hanna, wire.Request{Do: wire.Add})
}

// 'sluice submit' is run by its arguments, after the job is in the record; what the user gives comes after --for.
func TestSubmit(t *testing.T) {
	l := newLab(t)
	l.get(hanna, wire.Request{Do: wire.Add, Set: &wire.Set{Name: "mammo", Path: filepath.Join(l.dir, "sets", "mammo"), Readers: []string{"ada"}, Release: "5KB/job,10KB/week", Nodes: "safe"}})
	q, body := submissionOf(codeOf(t), "--time=10")
	q.Arguments = []string{"--epochs=3", "a b;$(x)"}
	a, _ := l.get(ada, q, body...)
	if a.JobID != 1 || a.Output != "a warning\n" {
		t.Errorf("%+v", a)
	}
	dir := l.s.vault.jobFolder(a.ID)
	raw, err := os.ReadFile(filepath.Join(l.dir, "args"))
	l.must(err)
	want := strings.Join([]string{"submit", "--config=" + l.dir + "/sluice.toml", "--fence=" + dir + "/fence.json", "--token=" + a.ID, "--output=" + dir + "/log", "--chdir=" + dir,
		"--constraint=safe", "--for=ada", "--time=10", dir + "/script", "--epochs=3", "a b;$(x)", ""}, "\n")
	if string(raw) != want {
		t.Errorf("arguments:\n%s\nwant:\n%s", raw, want)
	}
	fence, err := confine.Read(filepath.Join(dir, "fence.json"))
	if err != nil || fence.Data["mammo"] != filepath.Join(l.dir, "sets/mammo") || fence.Numbers != 1000 || fence.Inner != dir+"/inner" || fence.Network != "" {
		t.Errorf("%+v, %v", fence, err)
	}
	if text, err := os.ReadFile(filepath.Join(dir, "script")); err != nil || string(text) != script {
		t.Errorf("script %q, %v", text, err)
	}
	if text, err := os.ReadFile(filepath.Join(dir, "code/train.py")); err != nil || string(text) != "print(1)\n" {
		t.Errorf("code %q, %v", text, err)
	}
	for _, options := range [][]string{{"-C", "fast"}, {"--constraint=fast"}, {"--comment"}, {"--job-name"}} { // the owner chooses the nodes
		q, body := submissionOf("", options...)
		l.refused(wire.ErrBadRequest, "", ada, q, body...)
	}
	at, err := os.ReadFile(filepath.Join(l.dir, "record-at-submission"))
	if err != nil || !strings.Contains(string(at), `"event":"submitted","by":"ada","job":"`+a.ID) {
		t.Errorf("when sluice submit ran the record said:\n%s", at)
	}
}

// The outcome of a submission is recorded as it is known: refused gives back what was reserved; one whose
// answer was lost is found by its token, at once or later.
func TestSubmitOutcomes(t *testing.T) {
	l := newLab(t)
	l.add("mammo", "2KB/job,2KB/week")
	q, body := submissionOf("")
	l.mode("refuse")
	for range 3 {
		l.refused(wire.ErrRefused, "invalid partition", ada, q, body...)
	}
	left, err := os.ReadDir(l.s.vault.jobFolder(""))
	if err != nil || len(left) > 0 {
		t.Errorf("folders of refused jobs: %v, %v", left, err)
	}
	l.mode("lost")
	if a, _ := l.get(ada, q, body...); a.JobID != 1 {
		t.Errorf("whose answer was lost: %+v", a)
	}
	l.mode("vanish")
	l.refused(wire.ErrUnavailable, "may or may not", ada, q, body...)
	l.refused(wire.ErrOverBudget, "leave you 0 bytes", ada, q, body...) // it keeps its reserve
	entries := l.entries()
	lost := entries[len(entries)-1].Job
	if j := l.s.vault.state.Job(lost); j == nil || j.State != wire.StateSubmitted {
		t.Fatalf("%+v", j)
	}
	l.must(os.WriteFile(filepath.Join(l.dir, "accepted"), []byte("x\n"+lost+"\n"), 0o600)) // it came after all
	l.open()
	jobs, _ := l.get(ada, wire.Request{Do: wire.Jobs})
	i := slices.IndexFunc(jobs.Jobs, func(j wire.Job) bool { return j.ID == lost })
	if i < 0 || jobs.Jobs[i].State != wire.StateStarted || jobs.Jobs[i].JobID != 2 {
		t.Errorf("after a restart: %+v", jobs.Jobs)
	}
}

func TestChange(t *testing.T) {
	now := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
	job := func(state string, number int64) vault.Job {
		return vault.Job{ID: "a", State: state, Number: number, Submitted: now}
	}
	running, done := slurm.Job{ID: 7, State: slurm.Running}, slurm.Job{ID: 7, State: slurm.Completed}
	completing, requeued := done, slurm.Job{ID: 7, State: slurm.Pending, Requeued: true}
	completing.Completing = true
	for _, c := range []struct {
		name  string
		job   vault.Job
		slurm slurm.Job
		known bool
		after time.Duration
		want  vault.Event
	}{
		{"found by its token", job(wire.StateSubmitted, 0), running, true, 0, vault.Started},
		{"not there yet", job(wire.StateSubmitted, 0), slurm.Job{}, false, time.Minute, ""},
		{"never seen", job(wire.StateSubmitted, 0), slurm.Job{}, false, 2 * time.Hour, vault.Ended},
		{"runs", job(wire.StateStarted, 7), running, true, 0, ""},
		{"completes", job(wire.StateStarted, 7), completing, true, 0, ""},
		{"waits again", job(wire.StateStarted, 7), requeued, true, 0, ""},
		{"done", job(wire.StateStarted, 7), done, true, 0, vault.Ended},
		{"forgotten", job(wire.StateStarted, 7), slurm.Job{}, false, 0, vault.Ended},
		{"again after its end", job(wire.StateEnded, 7), requeued, true, 0, vault.Started},
		{"stays ended", job(wire.StateEnded, 7), done, true, 0, ""},
		{"another number", job(wire.StateEnded, 8), running, true, 0, ""},
	} {
		if e, is := change(c.job, c.slurm, c.known, now.Add(c.after)); e.Event != c.want && is || is != (c.want != "") {
			t.Errorf("%s: %q, %v; want %q", c.name, e.Event, is, c.want)
		}
	}
}

func TestSubmitRefuses(t *testing.T) {
	l := newLab(t)
	l.add("mammo", "5KB/job,10KB/week")
	for _, option := range []string{"--output=/home/eve/x", "-o/home/eve/x", "--outp=/x", "--error=/x", "--export=ALL", "--chdir=/home/eve", "--wrap=id", "--uid=0", "--get-user-env",
		"--propagate=ALL", "--task-prolog=/x", "--array=1-3", "--fence=/x", "--for=eve", "--token=x", "--config=/x", "--user", "--input=/etc/passwd", "--container=/x", "--bb=x",
		"--checkpoint-glob=/vault/*", "script", "--help", "--version", "--", ":"} {
		q, body := submissionOf("", option)
		if _, _, err := l.ask(ada, q, body...); !errors.Is(err, wire.ErrBadRequest) {
			t.Errorf("%s: %v", option, err)
		}
	}
	for _, line := range []string{"#SBATCH --output=/home/eve/x", "#SBATCH --uid=0", "#SBATCH --get-user-env", "#SBATCH --task-epilog=/x", "#SLUICE --fence=/x", "#PBS -o /x", "#SLUICE --sweep=x.yaml"} {
		text := "#!/bin/sh\n#SLUICE --data=mammo --min-gpus=1\n" + line + "\ntrain\n"
		l.refused(wire.ErrBadRequest, "train.sh:3:", ada, wire.Request{Do: wire.Submit, Data: []string{"mammo"}, Script: "train.sh", ScriptSize: int64(len(text))}, text)
	}
	l.add("lungs", "5KB/job,10KB/week")
	q, body := submissionOf("")
	q.Data = []string{"lungs"}
	l.refused(wire.ErrBadRequest, "the request lungs", ada, q, body...)
	for _, data := range [][]string{nil, {"mammo", "mammo"}, slices.Repeat([]string{"mammo"}, 17)} {
		q.Data = data
		l.refused(wire.ErrBadRequest, "", ada, q, body...)
	}
	q, body = submissionOf("this is not a tar")
	l.refused(wire.ErrBadRequest, "bundle", ada, q, body...)
	q, body = submissionOf(codeOf(t))
	l.refused(wire.ErrBadRequest, "not a whole tar", ada, q, body[0], body[1][:100])
	l.refused(wire.ErrBadRequest, "did not arrive", ada, q, body[0], body[1][:len(body[1])-512])
	l.refused(wire.ErrBadRequest, "did not arrive", ada, q, body[0][:10])
	q.BundleSize = 1 << 40
	l.refused(wire.ErrBadRequest, "at most", ada, q)
	q.BundleSize, q.ScriptSize = 0, 1<<40
	l.refused(wire.ErrBadRequest, "at most", ada, wire.Request{Do: wire.Submit, Data: []string{"mammo"}, ScriptSize: 10, Options: slices.Repeat([]string{"-v"}, 2000)})
	l.refused(wire.ErrBadRequest, "from 1 to", ada, q)
	for _, options := range [][]string{{"--comment=" + strings.Repeat("<", mostText)}, slices.Repeat([]string{"--job-name=" + strings.Repeat("x", 90)}, 50)} {
		q, body = submissionOf("", options...)
		l.refused(wire.ErrBadRequest, "bytes; at most 4096", ada, q, body...)
	}
	l.must(os.Chmod(filepath.Join(l.dir, "sets/mammo"), 0o755))
	q, body = submissionOf("")
	l.refused(wire.ErrConflict, "mode 0755", ada, q, body...)
	if left, err := os.ReadDir(l.s.vault.jobFolder("")); err != nil || len(left) > 0 {
		t.Errorf("folders are left: %v, %v", left, err)
	}
	if _, err := os.Stat(filepath.Join(l.dir, "args")); err == nil {
		t.Error("sluice submit ran")
	}
}

// [data] bundle is what the files of a job's code have together, and not their tar.
func TestBundleOfItsSize(t *testing.T) {
	l := newLab(t)
	l.add("mammo", "5KB/job,10KB/week")
	for size, want := range map[int]string{1000: "", 1001: "more than 1000 bytes together"} {
		dir := t.TempDir()
		for i := range 10 {
			l.must(os.WriteFile(filepath.Join(dir, strings.Repeat("long", 40)+strconv.Itoa(i)), make([]byte, size/10), 0o600))
		}
		l.must(os.WriteFile(filepath.Join(dir, "x"), make([]byte, size%10), 0o600))
		code, err := packer.Pack(dir, nil, 1<<20)
		l.must(err)
		l.s.site.Data.Bundle = 1000
		q, body := submissionOf(string(code))
		if _, _, err := l.ask(ada, q, body...); (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%d bytes in a tar of %d: %v", size, len(code), err)
		}
	}
}

// Links, pipes, and files that are others' or have a second name do not leave, and nothing that they lead to is read.
func TestLinksDoNotLeave(t *testing.T) {
	l := newLab(t)
	l.add("mammo", "50KB/job,100KB/week", "*")
	id := l.submit(ada)
	out := filepath.Join(l.s.vault.jobFolder(id), "out")
	secret := filepath.Join(l.dir, "sets/mammo/image.json")
	l.must(os.WriteFile(secret, []byte("secret"), 0o600))
	l.must(os.Symlink(secret, filepath.Join(out, "link.json")))
	l.must(os.Symlink(filepath.Dir(secret), filepath.Join(out, "folder")))
	l.must(os.Link(secret, filepath.Join(out, "hard.json")))
	l.must(syscall.Mkfifo(filepath.Join(out, "fifo.json"), 0o600))
	l.put(id, "out/good.json", "good")
	l.put(id, "out/sparse.bin", "")
	l.must(os.Truncate(filepath.Join(out, "sparse.bin"), 1<<40))
	l.put(id, "out/\x1b[2J.json", "escape")
	l.end(id)
	a, raw := l.get(ada, wire.Request{Do: wire.Results, Job: id})
	if got := l.files(raw); len(got) != 1 || got["good.json"] != "good" {
		t.Errorf("what left: %v", got)
	}
	want := map[string]string{"good.json": wire.FileReleased, "link.json": wire.FileRefused, "folder": wire.FileRefused, "hard.json": wire.FileRefused, "fifo.json": wire.FileRefused, "sparse.bin": wire.FileOver}
	if got := states(a.Files); !maps.Equal(got, want) || !a.More {
		t.Errorf("%v, more %v; want %v and more", got, a.More, want)
	}
	for _, f := range a.Files {
		if f.State == wire.FileRefused && (f.Size != 0 || f.Digest != "") {
			t.Errorf("of %s something is told: %+v", f.Name, f)
		}
	}
	logLink := filepath.Join(l.s.vault.jobFolder(id), "log")
	l.must(os.Symlink(secret, logLink))
	l.refused(wire.ErrConflict, "log cannot be read", ada, wire.Request{Do: wire.Logs, Job: id})
}

// Once a grant is revoked nothing of the user's jobs leaves, running or not.
func TestRevokedInMidRun(t *testing.T) {
	l := newLab(t)
	l.add("mammo", "50KB/job,100KB/week")
	id := l.submit(ada)
	l.put(id, logName, "text\n")
	l.put(id, "out/m.pt", "model")
	l.submit(bob)
	l.get(hanna, wire.Request{Do: wire.Revoke, Name: "mammo", Readers: []string{"ada"}})
	if !slices.Equal(l.killed, []slurm.JobID{1}) { // not that of bob, who is in the group
		t.Errorf("cancelled: %v", l.killed)
	}
	l.refused(wire.ErrDenied, "any more", ada, wire.Request{Do: wire.Logs, Job: id})
	l.end(id)
	l.refused(wire.ErrDenied, "any more", ada, wire.Request{Do: wire.Results, Job: id})
	q, body := submissionOf("")
	l.refused(wire.ErrNotFound, "no data set", ada, q, body...)
	l.refused(wire.ErrConflict, "not among the readers", hanna, wire.Request{Do: wire.Revoke, Name: "mammo", Readers: []string{"ada"}})
	l.get(hanna, wire.Request{Do: wire.Grant, Name: "mammo", Readers: []string{"ada"}})
	if _, raw := l.get(ada, wire.Request{Do: wire.Results, Job: id}); l.files(raw)["m.pt"] != "model" {
		t.Error("granted again, and nothing leaves")
	}
}

func TestCancel(t *testing.T) {
	l := newLab(t)
	l.add("mammo", "50KB/job,100KB/week")
	id := l.submit(ada)
	if a, _ := l.get(ada, wire.Request{Do: wire.Cancel, Job: "1"}); a.ID != id || !slices.Equal(l.killed, []slurm.JobID{1}) {
		t.Errorf("%+v, %v", a, l.killed)
	}
	l.end(id)
	l.refused(wire.ErrConflict, "cannot be cancelled", ada, wire.Request{Do: wire.Cancel, Job: "1"})
	l.silent = true
	l.s.listed.forget()
	l.refused(wire.ErrUnavailable, "does not answer", ada, wire.Request{Do: wire.Cancel, Job: "1"})
	l.refused(wire.ErrUnavailable, "does not answer", ada, wire.Request{Do: wire.Results, Job: "1"})
}
