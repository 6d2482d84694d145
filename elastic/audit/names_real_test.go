package audit

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sluice-hpc/sluice/slurm/lab"
	"github.com/sluice-hpc/sluice/slurm/lab/labtest"
)

// TestHostileNamesOnARealSlurm: what slurmctld writes of such names to its job completion log
// is read as intended and causes no false report.
func TestHostileNamesOnARealSlurm(t *testing.T) {
	if testing.Short() {
		t.Skip("NOT TESTED on a real Slurm: -short")
	}
	l := labtest.Up(t, lab.Config{FastScheduling: true, Nodes: 2, GPUs: 2})
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	began := time.Now().Add(-2 * time.Second) // the log has whole seconds
	victim := batch(t, ctx, l, "victim", "gpu1")
	runs := []string{victim}
	for _, name := range []string{
		"a\nb", "a JobState=FAILED Partition=", "a\nJobId=" + victim + " UserId=ada(1000) GroupId=ada(1000) Name=x",
		"a\n" + inJobcomp(victim, ada, "x", "COMPLETED", "12:00:02", "12:00:05", "gpu1", "/"),
		strings.ReplaceAll(whole(inJobcomp(victim, ada, "x", "CANCELLED", "12:00:40", "12:00:40", "(null)", "/")), "JobId=9 ", "JobId=6 "),
	} {
		runs = append(runs, batch(t, ctx, l, name, "gpu2"))
	}
	p := Site(l.Dir())
	var e Evidence
	for len(ended(t, p, &e, runs)) < len(runs) {
		if ctx.Err() != nil {
			t.Fatalf("only %v of %v ended: %v", ended(t, p, &e, runs), runs, text(t, p.Completions))
		}
		time.Sleep(200 * time.Millisecond)
	}
	at := func(n int, when time.Time) Line {
		return Line{File: "sluiced.log", Number: n, At: when, Grain: time.Millisecond}
	}
	for i, id := range runs { // as sluiced would have logged it
		e.Events = append(e.Events, Event{Line: at(i+1, began), Kind: "adopted", Job: job(id)}, Event{Line: at(i+20, time.Now()), Kind: "ended", Job: job(id)})
	}
	e.Events = append(e.Events, Event{Line: at(99, time.Now().Add(time.Hour)), Kind: "step"})
	if report := Check(e, Options{}); !report.Clean() {
		t.Errorf("%s", report)
	}
	e.Events = e.Events[:1] // the victim's end is not logged
	e.Events = append(e.Events, Event{Line: at(99, time.Now().Add(time.Hour)), Kind: "step"})
	if report := Check(e, Options{}); report.Clean() {
		t.Errorf("an end that was not logged was not reported: %s", report)
	}
}

// batch submits a job with this name that ends at once.
func batch(t *testing.T, ctx context.Context, l *lab.Lab, name, node string) string {
	t.Helper()
	cmd := l.Command(ctx, "sbatch", "--parsable", "--output=/dev/null", "--gres=gpu:1", "--nodelist="+node, "--job-name="+name, "--wrap=true")
	cmd.Dir = "/tmp"
	out, err := cmd.Output()
	if err != nil {
		if exit, ok := err.(*exec.ExitError); ok {
			err = fmt.Errorf("%w: %s", err, exit.Stderr)
		}
		t.Fatal(err)
	}
	return strings.TrimSpace(string(out))
}

// ended reads the two records of Slurm and returns which jobs have ended, by the entries that
// the audit trusts.
func ended(t *testing.T, p Places, e *Evidence, jobs []string) []string {
	t.Helper()
	*e = Evidence{GPUs: map[string]int{"gpu1": 2, "gpu2": 2}}
	for path, read := range map[string]func(text, file string) error{
		p.Controller: func(text, file string) (err error) {
			e.Controller, err = ParseController(strings.NewReader(text), file, time.Local)
			return err
		},
		p.Completions: func(text, file string) (err error) {
			e.Completions, _, err = ParseCompletions(strings.NewReader(text), file, time.Local)
			return err
		},
	} {
		if err := read(text(t, path), filepath.Base(path)); err != nil {
			t.Fatal(err)
		}
	}
	c := &check{Evidence: *e, ours: map[int64]Event{}, unclear: map[int64]bool{}}
	c.byJob()
	c.survey()
	c.vouch()
	var out []string
	for _, id := range jobs {
		if f, over := c.finals()[job(id)]; over && f.State == "COMPLETED" {
			out = append(out, id)
		}
	}
	return out
}

// text reads a file that may not be there yet.
func text(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	return string(b)
}
