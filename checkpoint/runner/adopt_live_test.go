package runner_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sluice-hpc/sluice/checkpoint"
	"github.com/sluice-hpc/sluice/checkpoint/runner"
)

// habitual is a program that never heard of sluice: it saves folders by a habit of
// its own and starts from the newest it finds. own NAME WORDS [MARKER] saves one.
const habitual = `
own() { mkdir -p "$OUT/$1"; echo "$2" >"$OUT/$1/weights"; mkdir -p "$OUT/$1/deep"; echo "$2" >"$OUT/$1/deep/optimizer"; [ -z "$3" ] || echo '{}' >"$OUT/$1/$3"; }
newest() { ls "$OUT" | grep -E '^checkpoint-[0-9]+$' | sort -t- -k2n | tail -n 1; }
say "from $(newest) resume ${SLUICE_RESUME##*/}"
`

func newHabitual(t *testing.T, script string) (*live, string) {
	t.Helper()
	out := filepath.Join(t.TempDir(), "out")
	must(t, os.Mkdir(out, 0o755))
	l := newJob(t, "OUT="+out+"\n"+habitual+script)
	l.config.Adopt = runner.Adopt{Glob: out + "/checkpoint-*", Marker: "state.json", Still: 100 * time.Millisecond}
	return l, out
}

// again starts the next run, as after a requeue.
func (l *live) again() *live {
	l.Helper()
	l.stop()
	<-l.done
	l.withdraw()
	l.restarts++
	return l.start()
}

func (l *live) progress() string { return slurp(filepath.Join(l.dir, "progress.jsonl")) }

func (l *live) says(text string) {
	l.Helper()
	l.until("the runner says "+text, func() bool { return strings.Contains(slurp(l.errs), text) })
}

// TestAdopted: what the program saves becomes a checkpoint of the job's, hello is
// said once it has been verified, and the program's own pruning takes nothing.
func TestAdopted(t *testing.T) {
	l, out := newHabitual(t, `own checkpoint-7 seven state.json; until [ -e "$OUT/go" ]; do sleep 0.01; done; rm -r "$OUT/checkpoint-7"; say pruned; sleep 60`)
	l.start()
	l.until("hello is said", func() bool { return strings.Contains(l.progress(), `"hello"`) })
	must(t, os.WriteFile(filepath.Join(out, "go"), nil, 0o600))
	l.tells("pruned")
	saved := filepath.Join(l.dir, "checkpoints", "00000001")
	if got := slurp(filepath.Join(saved, "weights")) + slurp(filepath.Join(saved, "deep", "optimizer")); got != "seven\nseven\n" {
		t.Errorf("the adopted one holds %q", got)
	}
	m, err := checkpoint.ParseManifest([]byte(slurp(filepath.Join(saved, "manifest.json"))))
	if err != nil || m.Step != 7 || m.GPUs != 2 || len(m.Files) != 3 || m.Request != "" {
		t.Errorf("manifest %+v, %v", m, err)
	}
	// The next run finds it where the program looks for it.
	l.again()
	l.tells("from checkpoint-7 resume 00000001")
	l.says("checkpoint-7 was gone or changed: put back from checkpoint 00000001")
	if strings.Count(l.progress(), `"hello"`) != 1 {
		t.Errorf("progress:\n%s", l.progress())
	}
}

// TestAdoptedAnswers: a request waits for the program's next own checkpoint while
// it trains on; it is answered by that, and what the program saved after it and
// could not finish is set aside before the next run.
func TestAdoptedAnswers(t *testing.T) {
	l, out := newHabitual(t, `
[ $SLUICE_RESTARTS = 0 ] || sleep 60
own checkpoint-10 a state.json
until [ -e "$OUT/go" ]; do sleep 0.01; done
own checkpoint-20 b state.json
until [ -e "$OUT/on" ]; do sleep 0.01; done
own checkpoint-30 torn; say "tore 30"; sleep 60`)
	l.start()
	l.says("adopted as checkpoint 00000001")
	l.ask("r1")
	l.reach(checkpoint.Saving)
	time.Sleep(300 * time.Millisecond) // it must not be answered by what was saved before it
	if w := l.word(); w.Answer != nil {
		t.Fatalf("answered %+v", w.Answer)
	}
	must(t, os.WriteFile(filepath.Join(out, "go"), nil, 0o600))
	w := l.reach(checkpoint.Waiting)
	if a := w.Answer; a == nil || a.Checkpoint != "00000002" || a.Request != "r1" || a.Step != 20 || w.Rhythm <= 0 {
		t.Fatalf("answer %+v, rhythm %v", a, w.Rhythm)
	}
	must(t, os.WriteFile(filepath.Join(out, "on"), nil, 0o600))
	l.tells("tore 30")
	l.again()
	l.tells("from checkpoint-20 resume 00000002")
	l.says("checkpoint-30 is set aside as checkpoint-30.sluice-damaged: it was not complete")
	if slurp(filepath.Join(out, "checkpoint-30.sluice-damaged", "weights")) != "torn\n" {
		t.Error("what was set aside is gone")
	}
}

// TestAnswerPasses: the answer is not used while the program trains on; it is withdrawn,
// and the next checkpoint answers.
func TestAnswerPasses(t *testing.T) {
	l, out := newHabitual(t, `until [ -e "$OUT/go" ]; do sleep 0.01; done; own checkpoint-10 a state.json; until [ -e "$OUT/on" ]; do sleep 0.01; done; own checkpoint-20 b state.json; sleep 60`)
	l.config.Stands = 300 * time.Millisecond
	l.start()
	l.ask("r1")
	l.reach(checkpoint.Saving)
	must(t, os.WriteFile(filepath.Join(out, "go"), nil, 0o600))
	l.reach(checkpoint.Waiting)
	l.until("the answer is taken back", func() bool { w := l.word(); return w.State == checkpoint.Saving && w.Answer == nil })
	must(t, os.WriteFile(filepath.Join(out, "on"), nil, 0o600))
	if w := l.reach(checkpoint.Waiting); w.Answer.Step != 20 {
		t.Errorf("answer %+v", w.Answer)
	}
}

// TestWithdrawnTrainsOn: the program never noticed the request.
func TestWithdrawnTrainsOn(t *testing.T) {
	l, _ := newHabitual(t, `n=0; while :; do n=$((n+1)); own checkpoint-$n $n state.json; rm -rf "$OUT/checkpoint-$((n-3))"; say "trained $n"; sleep 0.2; done`)
	l.start()
	for _, id := range []string{"a", "b"} {
		l.ask(id)
		w := l.reach(checkpoint.Waiting)
		if w.Answer.Step < 1 {
			t.Errorf("answer %+v", w.Answer)
		}
		l.withdraw()
		l.reach(checkpoint.Training)
		next := fmt.Sprintf("trained %d", w.Answer.Step+4)
		l.tells(next)
	}
}

// TestCompleteByItself: exit 0 is the end of the job, also in the moment between
// an answer and the stop.
func TestCompleteByItself(t *testing.T) {
	l, out := newHabitual(t, `own checkpoint-1 a state.json; until [ -e "$OUT/go" ]; do sleep 0.01; done; exit 0`)
	l.start()
	l.ask("r1")
	l.reach(checkpoint.Waiting)
	must(t, os.WriteFile(filepath.Join(out, "go"), nil, 0o600))
	l.exits(0)
}

// TestSavedLastAndKilled: a checkpoint that was complete when its run was killed,
// but not adopted yet, is adopted before the next run starts.
func TestSavedLastAndKilled(t *testing.T) {
	l, out := newHabitual(t, `[ $SLUICE_RESTARTS = 0 ] || sleep 60; own checkpoint-5 a state.json; sleep 60`)
	l.start()
	l.says("adopted as checkpoint 00000001")
	l.cmd.Process.Kill()
	<-l.done
	l.killScript()
	dir := filepath.Join(out, "checkpoint-6")
	must(t, os.Mkdir(dir, 0o755))
	must(t, os.WriteFile(filepath.Join(dir, "weights"), []byte("b\n"), 0o600))
	must(t, os.WriteFile(filepath.Join(dir, "state.json"), []byte("{}"), 0o600))
	l.restarts++
	l.start()
	l.tells("from checkpoint-6 resume 00000002")
	if w := l.reach(checkpoint.Training); w.Resumed != "00000002" {
		t.Errorf("word %+v", w)
	}
}

// TestDamagedTwin: when the newest adopted checkpoint does not verify, the job
// goes back to the one before, and so does a program that looks for itself.
func TestDamagedTwin(t *testing.T) {
	l, out := newHabitual(t, `[ $SLUICE_RESTARTS = 0 ] || sleep 60
own checkpoint-5 a state.json; until [ -e "$OUT/go" ]; do sleep 0.01; done; own checkpoint-6 b state.json; sleep 60`)
	l.start()
	l.says("adopted as checkpoint 00000001")
	must(t, os.WriteFile(filepath.Join(out, "go"), nil, 0o600))
	l.says("adopted as checkpoint 00000002")
	// One file with two names: the same size and time, another content.
	p := filepath.Join(out, "checkpoint-6", "weights")
	info, err := os.Stat(p)
	must(t, err)
	must(t, os.WriteFile(p, []byte("X\n"), 0o600))
	must(t, os.Chtimes(p, info.ModTime(), info.ModTime()))
	l.again()
	l.tells("from checkpoint-5 resume 00000001")
	l.says("checkpoint-6 is set aside as checkpoint-6.sluice-damaged: checkpoint 00000002, made of it, does not verify")
}

// TestOneFileInPlace: a program that writes the same file again and again, without
// a marker; what was adopted does not change under its hands.
func TestOneFileInPlace(t *testing.T) {
	l, out := newHabitual(t, `
say "has $(cat "$OUT/model.pt" 2>/dev/null) resume ${SLUICE_RESUME#$SLUICE_CHECKPOINTS}"
[ $SLUICE_RESTARTS = 0 ] || sleep 60
echo one >"$OUT/model.pt"; until [ -e "$OUT/go" ]; do sleep 0.01; done; printf torn >"$OUT/model.pt"; say torn; until [ -e "$OUT/on" ]; do sleep 0.01; done`)
	l.config.Adopt = runner.Adopt{Glob: out + "/model.pt", Still: time.Second}
	l.start()
	l.says("adopted as checkpoint 00000001")
	must(t, os.WriteFile(filepath.Join(out, "go"), nil, 0o600))
	l.tells("torn")
	l.again()
	l.tells("has one resume /00000001/model.pt")
	l.says("model.pt is set aside")
	if slurp(filepath.Join(out, "model.pt.sluice-damaged")) != "torn" {
		t.Error("what was set aside is gone")
	}
}

// TestBeforeTheJob: what an earlier job left is neither adopted nor touched.
func TestBeforeTheJob(t *testing.T) {
	l, out := newHabitual(t, `own checkpoint-3 mine state.json; sleep 60`)
	old := filepath.Join(out, "checkpoint-9")
	must(t, os.Mkdir(old, 0o755))
	must(t, os.WriteFile(filepath.Join(old, "weights"), []byte("old"), 0o600)) // no marker: torn, but not ours
	l.start()
	l.says("1 checkpoints like")
	l.says("checkpoint-3 is complete: adopted as checkpoint 00000001")
	l.again()
	l.tells("from checkpoint-9 resume 00000001")
	if slurp(filepath.Join(old, "weights")) != "old" {
		t.Error("touched")
	}
}

// TestLinksAndPipes: a link out of the checkpoint is left out and said, one to a
// file inside is taken as that file, and a pipe hangs nobody.
func TestLinksAndPipes(t *testing.T) {
	l, _ := newHabitual(t, `mkdir -p "$OUT/checkpoint-1"; cd "$OUT/checkpoint-1"; echo w >weights; ln -s weights latest; ln -s /etc/passwd out; ln -s ../x up; mkfifo pipe; echo '{}' >state.json; sleep 60`)
	l.start()
	for _, name := range []string{"out: a link to /etc/passwd", "up: a link to ../x", "pipe: neither a file nor a folder"} {
		l.says("checkpoint-1: left out: " + name)
	}
	saved := filepath.Join(l.dir, "checkpoints", "00000001")
	if slurp(filepath.Join(saved, "latest")) != "w\n" {
		t.Error("the link inside was not taken")
	}
	if names, _ := filepath.Glob(saved + "/*"); len(names) != 4 {
		t.Errorf("adopted %v", names)
	}
}

// TestProgressFromOutput: progress bars and log lines on both streams.
func TestProgressFromOutput(t *testing.T) {
	l := newJob(t, `printf 'Loading:  50%%| 80/160 [00:01<00:01, 80.0it/s]\r'
for n in 1 2 3; do printf '\r  1%%| %d/200 [00:0%d<06:40, 2.00s/it]' $n $n >&2; sleep 0.1; done; printf '\r  2%%| 4/200 [00:08<06:40,  4.00it/s]\n' >&2; exit 0`)
	l.config.Unit = "step"
	l.config.Adopt = runner.Adopt{Progress: `^\s*\d+%\|.* (?P<step>\d+)/(?P<total>\d+) \[.*?(?:(?P<speed>[\d.]+)it/s|(?P<seconds>[\d.]+)s/it)`, Total: 200}
	l.start().exits(0)
	lines, _, bad, err := l.mail.Progress(token, uint32(os.Getuid()), 0)
	if err != nil || len(bad) > 0 || len(lines) == 0 {
		t.Fatalf("%v %v %v; stderr: %s", lines, bad, err, slurp(l.errs))
	}
	last := lines[len(lines)-1]
	if last.Event != "progress" || last.Done != 4 || last.Step != 4 || last.Seconds != 0.25 || last.GPUs != 2 || last.Nodes != 1 {
		t.Errorf("last %+v of %+v", last, lines)
	}
}
