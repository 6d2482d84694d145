package python_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sluice-hpc/sluice/checkpoint"
)

// folder is a job's folder, made by hand, and what its program is told.
type folder struct {
	dir, saved, request string
	env                 []string
}

func newFolder(t *testing.T) folder {
	t.Helper()
	dir := filepath.Join(t.TempDir(), token)
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	f := folder{dir: dir, saved: filepath.Join(dir, checkpoint.Checkpoints), request: filepath.Join(dir, "request.json")}
	f.env = []string{"SLUICE_JOB_DIR=" + dir, "SLUICE_JOB_ID=42", "SLUICE_RESTARTS=1", "SLUICE_NODES=2", "SLUICE_GPUS=3", "SLUICE_UNIT=step",
		"SLUICE_CHECKPOINTS=" + f.saved, "SLUICE_REQUEST=" + f.request, "SLUICE_RESUME="}
	return f
}

// ask leaves a request as the runner does; its text names other keys, as texts may.
func (f folder) ask(t *testing.T, id string) {
	t.Helper()
	content := fmt.Sprintf(`{"version": 1, "job": 42, "request": "%s", "why": "as \"request\": \"other\" said"}`, id)
	if err := os.WriteFile(f.request+".new", []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(f.request+".new", f.request); err != nil {
		t.Fatal(err)
	}
}

// withdrawOnce takes the request back once a checkpoint was committed.
func (f folder) withdrawOnce(t *testing.T, name string) {
	t.Helper()
	manifest := filepath.Join(f.saved, name, "manifest.json")
	go func() { // ends with the file, or with the test
		for t.Context().Err() == nil {
			if _, err := os.Stat(manifest); err == nil {
				os.Remove(f.request)
				return
			}
			time.Sleep(10 * time.Millisecond)
		}
	}()
}

// newest is the newest valid checkpoint, as the runner finds it.
func (f folder) newest(t *testing.T) checkpoint.Checkpoint {
	t.Helper()
	d, err := checkpoint.OpenDir(f.saved)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	c, skipped, err := checkpoint.NewSeries(d, checkpoint.Identity{Job: 42, Token: token}).Newest(t.Context())
	if err != nil || len(skipped) > 0 {
		t.Fatalf("%v, skipped %v", err, skipped)
	}
	return c
}

// events are those of the progress log, as the daemon reads it.
func (f folder) events(t *testing.T) string {
	t.Helper()
	mail, err := checkpoint.NewMailbox(filepath.Dir(f.dir), filepath.Join(t.TempDir(), "outbox"))
	if err != nil {
		t.Fatal(err)
	}
	lines, _, bad, err := mail.Progress(token, uint32(os.Getuid()), 0)
	if err != nil || len(bad) > 0 {
		t.Errorf("%v, bad %v", err, bad)
	}
	var events []string
	for _, l := range lines {
		events = append(events, fmt.Sprintf("%s:%g", l.Event, l.Done))
	}
	return strings.Join(events, " ")
}

func (f folder) start(t *testing.T, more []string, argv ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Env = append(append(os.Environ(), f.env...), more...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v\n%s", strings.Join(argv, " "), err, out)
	}
	return string(out)
}

// cProgram saves files of many sizes when asked, in folders and under odd names.
const cProgram = `
#include "sluice.h"
int main(void) {
	static const long sizes[] = {0, 1, 55, 56, 57, 63, 64, 65, 119, 120, 128, 300000};
	char from[SLUICE_PATH], folder[SLUICE_PATH], path[SLUICE_PATH + 64];
	long first = 0, step, i, n;
	double epoch = -1;
	int resumed = sluice_resume(from, &first, &epoch);
	printf("resumed %d %ld %g\n", resumed, first, epoch);
	for (step = first; step < first + 3; step++) {
		sluice_report(step + 1, 0);
		if (!sluice_asked()) continue;
		if (sluice_begin(folder) != 0) return 3;
		snprintf(path, sizeof path, "%s/odd \"name\"", folder);
		mkdir(path, 0700);
		for (i = 0; i < 12; i++) {
			FILE *out;
			snprintf(path, sizeof path, "%s/odd \"name\"/%ld", folder, sizes[i]);
			out = fopen(path, "w");
			for (n = 0; n < sizes[i]; n++) fputc((int)(n * 7 % 251), out);
			fclose(out);
		}
		if (sluice_commit(folder, step + 1, 0.5) != 0) return perror("commit"), 4;
		printf("saved at %ld\n", step + 1);
	}
	return sluice_finished();
}
`

// TestHeader: what a program in C writes, the runner and the daemon read.
func TestHeader(t *testing.T) {
	for _, c := range []struct{ compiler, language, standard string }{{"gcc", "c", "c99"}, {"g++", "c++", "c++11"}} {
		t.Run(c.language, func(t *testing.T) {
			if _, err := exec.LookPath(c.compiler); err != nil {
				t.Skipf("NOT TESTED: sluice.h in %s; there is no %s", c.language, c.compiler)
			}
			program := filepath.Join(t.TempDir(), "program")
			compile := exec.CommandContext(t.Context(), c.compiler, "-x", c.language, "-std="+c.standard, "-Wall", "-Wextra", "-Werror", "-Iinclude", "-o", program, "-")
			compile.Stdin = strings.NewReader(cProgram)
			if out, err := compile.CombinedOutput(); err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			f := newFolder(t)
			f.ask(t, "r.1:a")
			f.withdrawOnce(t, "00000001")
			if out := f.start(t, nil, program); out != "resumed 0 0 -1\nsaved at 1\n" {
				t.Errorf("printed %q", out)
			}
			saved := f.newest(t)
			if m := saved.Manifest; saved.Name != "00000001" || m.Step != 1 || m.Epoch != 0.5 || m.Request != "r.1:a" || m.GPUs != 3 || len(m.Files) != 12 {
				t.Errorf("%s: %+v", saved.Name, m)
			}
			if got := f.events(t); got != "progress:1 hello:1 finished:3" {
				t.Errorf("events %s", got)
			}
			if out := f.start(t, []string{"SLUICE_RESUME=" + filepath.Join(f.saved, saved.Name)}, program); out != "resumed 1 1 0.5\n" {
				t.Errorf("printed %q", out)
			}
			outside := exec.CommandContext(t.Context(), program)
			outside.Env = []string{}
			if out, err := outside.CombinedOutput(); err != nil || !bytes.HasPrefix(out, []byte("resumed 0 0 -1")) {
				t.Errorf("outside of a job: %v, %q", err, out)
			}
		})
	}
}

// TestTrainsOn: a request for a periodic checkpoint is answered, and not waited for, by the
// header and by the shell alike.
func TestTrainsOn(t *testing.T) {
	ask := func(t *testing.T, f folder) {
		t.Helper()
		content := `{"version": 1, "job": 42, "request": "t1", "why": "as \"continue\": false said", "continue": true}`
		if err := os.WriteFile(f.request, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	t.Run("shell", func(t *testing.T) {
		f := newFolder(t)
		ask(t, f)
		f.start(t, []string{"STEPS=3", "PAUSE=0"}, "bash", "examples/train.sh")
		if saved := f.newest(t); saved.Name != "00000001" || saved.Manifest.Request != "t1" {
			t.Errorf("%s: %+v", saved.Name, saved.Manifest)
		}
	})
	t.Run("c", func(t *testing.T) {
		if _, err := exec.LookPath("gcc"); err != nil {
			t.Skip("NOT TESTED: sluice.h; there is no gcc")
		}
		program := filepath.Join(t.TempDir(), "program")
		compile := exec.CommandContext(t.Context(), "gcc", "-x", "c", "-Iinclude", "-o", program, "-")
		compile.Stdin = strings.NewReader(cProgram)
		if out, err := compile.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		f := newFolder(t)
		ask(t, f)
		f.start(t, nil, program)
		if saved := f.newest(t); saved.Name != "00000001" || saved.Manifest.Request != "t1" || saved.Manifest.Seconds <= 0 {
			t.Errorf("%s: %+v", saved.Name, saved.Manifest)
		}
	})
}

// TestHeaderOnAFullDisk: a checkpoint that cannot be written whole does not exist.
func TestHeaderOnAFullDisk(t *testing.T) {
	if _, err := exec.LookPath("gcc"); err != nil {
		t.Skip("NOT TESTED: sluice.h; there is no gcc")
	}
	program := filepath.Join(t.TempDir(), "program")
	compile := exec.CommandContext(t.Context(), "gcc", "-x", "c", "-Iinclude", "-o", program, "-")
	compile.Stdin = strings.NewReader(`
#include "sluice.h"
int main(void) {
	char folder[SLUICE_PATH], path[SLUICE_PATH + 8];
	if (sluice_begin(folder) != 0) return 3;
	if (sluice_commit(folder, 1, 0) == 0) return 4; /* nothing was saved in it */
	snprintf(path, sizeof path, "%s/link", folder);
	if (symlink("/etc/passwd", path) != 0 || sluice_commit(folder, 1, 0) == 0) return 5;
	snprintf(path, sizeof path, "%s/.manifest.new", folder);
	return symlink("/dev/full", path) != 0 || sluice_commit(folder, 1, 0) == 0 ? 6 : 0;
}
`)
	if out, err := compile.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	f := newFolder(t)
	f.start(t, nil, program)
	if _, err := os.Stat(filepath.Join(f.saved, "00000001", "manifest.json")); !os.IsNotExist(err) {
		t.Errorf("a manifest: %v", err)
	}
}

// TestShell: the example in shell saves when asked, waits, trains on and resumes.
func TestShell(t *testing.T) {
	f := newFolder(t)
	f.ask(t, "r1")
	f.withdrawOnce(t, "00000001")
	if out := f.start(t, []string{"STEPS=3", "PAUSE=0"}, "bash", "examples/train.sh"); out != "counted to 3\n" {
		t.Errorf("printed %q", out)
	}
	if saved := f.newest(t); saved.Manifest.Step != 1 || saved.Manifest.Request != "r1" {
		t.Errorf("%+v", saved.Manifest)
	}
	more := []string{"STEPS=3", "PAUSE=0", "SLUICE_RESUME=" + filepath.Join(f.saved, "00000001")}
	if out := f.start(t, more, "bash", "examples/train.sh"); out != "counted to 3\n" {
		t.Errorf("resumed, it printed %q", out)
	}
	if got, want := f.events(t), "hello:0 progress:1 progress:2 progress:3 finished:3 resumed:1 hello:1 progress:2 progress:3 finished:3"; got != want {
		t.Errorf("events %s, want %s", got, want)
	}
}
