package main_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/sluice-hpc/sluice/slurm/lab"
)

// guides are the pages whose console blocks are run, in the order in which one uses what the
// other wrote, each with the number of commands in it that are not.
var guides = []struct {
	page     string
	untested int
}{
	{"howto/own-loop.md", 0}, {"howto/deadlines.md", 0}, {"howto/several-nodes.md", 0}, {"howto/moving.md", 0}, {"howto/containers.md", 1},
}

const tutorial, tutorialUntested = "tutorial.md", 1

// TestTutorial types every command of the tutorial and compares what it prints.
func TestTutorial(t *testing.T) {
	t.Parallel()
	r := newReader(t)
	r.follow(tutorial, tutorialUntested)
}

// TestGuides does the same for the how-to guides, on one lab.
func TestGuides(t *testing.T) {
	t.Parallel()
	found, _ := filepath.Glob("../../etc/doc/howto/*.md")
	if len(found) != len(guides) {
		t.Errorf("there are %d guides, of which %d are run", len(found), len(guides))
	}
	r := newReader(t)
	for _, line := range []string{"sluice lab up --nodes 2 --gpus 4 --daemon", `eval "$(sluice lab env)"`} {
		if out, err := r.types(line); err != nil {
			t.Fatalf("%s: %v\n%s", line, err, out)
		}
	}
	r.calm()
	for _, g := range guides {
		r.follow(g.page, g.untested)
		r.waits(command{line: `scancel --user "$USER"; scancel -f -s KILL --user "$USER"; sluice queue -h`})
	}
}

// reader is a user with a shell, who follows a page.
type reader struct {
	t    *testing.T
	ctx  context.Context
	dir  string // where files are written and commands run
	lab  string // where the lab is
	env  []string
	name string
}

func newReader(t *testing.T) *reader {
	t.Helper()
	if err := lab.Missing(""); err != nil {
		t.Skipf("SKIPPED, the guides were not followed: %v", err)
	}
	me, err := user.Current()
	if err != nil {
		t.Fatal(err)
	}
	library, err := filepath.Abs("../../checkpoint/python")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 15*time.Minute)
	t.Cleanup(cancel)
	r := &reader{t: t, ctx: ctx, dir: t.TempDir(), name: me.Username}
	lab := fmt.Sprintf("/tmp/sluice-docs-%d-%d", os.Getpid(), scenes.Add(1))
	r.lab = lab
	r.env = append(os.Environ(), "PATH="+bin+":"+os.Getenv("PATH"), "SLUICE_LAB_DIR="+lab, "HOME="+r.dir, "USER="+r.name, "PYTHONPATH="+library, "TZ=UTC",
		"LC_ALL=C.UTF-8", "SLUICE_CONF=", "SLURM_CONF=")
	t.Cleanup(func() {
		if t.Failed() {
			raw, _ := os.ReadFile(filepath.Join(lab, "sluiced.log"))
			t.Logf("sluiced's log:\n%s", raw[max(0, len(raw)-6000):])
		}
		if _, err := os.Stat(lab); err == nil {
			ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
			defer cancel()
			if out, err := exec.CommandContext(ctx, filepath.Join(bin, "sluice"), "lab", "down", "--dir", lab).CombinedOutput(); err != nil {
				t.Errorf("%v: %s", err, out)
			}
		}
	})
	return r
}

// types runs a command line in a shell that knows what earlier ones exported.
func (r *reader) types(line string) (string, error) {
	ctx, cancel := context.WithTimeout(r.ctx, 5*time.Minute)
	defer cancel()
	const keep = `[ ! -e .exported ] || . ./.exported
%s
code=$?
export -p > .exported
exit $code
`
	cmd := exec.CommandContext(ctx, "bash", "--norc", "-c", fmt.Sprintf(keep, line))
	cmd.Dir, cmd.Env = r.dir, r.env
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.WaitDelay = time.Second // the lab's daemons live on
	out, err := cmd.CombinedOutput()
	if errors.Is(err, exec.ErrWaitDelay) {
		err = nil
	}
	return string(out), err
}

// calm makes the lab's sluiced resize nothing by itself, and ask for no checkpoint: on a busy
// machine minutes may lie between two commands that a reader types in seconds, and the page
// would show what was true before. A move pays for no job at that price: not for one that runs and has
// reported no speed yet, which counts as an hour's work (roles.MedianWork), nor for one whose move is
// measured, which rests for a day. It looks at Slurm often, so that the test need not wait.
func (r *reader) calm() {
	const line = `echo '[cycle]
period = "2s"
[resize]
payback = 100
cooldown = "24h"
save = "3h"
[checkpoint]
every = "off"' >>$SLUICE_LAB_DIR/sluice.toml
kill -HUP $(SLUICE_CONF=$SLUICE_LAB_DIR/sluice.toml sluice status --json | sed -n 's/^ *"pid": *\([0-9]*\),$/\1/p')
`
	if out, err := r.types(line); err != nil {
		r.t.Fatalf("%v: %s", err, out)
	}
	for deadline := time.Now().Add(2 * time.Minute); ; time.Sleep(100 * time.Millisecond) {
		raw, err := os.ReadFile(filepath.Join(r.lab, "sluiced.log"))
		if err == nil && strings.Contains(string(raw), "reloaded") {
			return
		}
		if time.Now().After(deadline) {
			r.t.Fatalf("sluiced did not reload: %v\n%s", err, raw)
		}
	}
}

// follow writes the files of a page and types its commands, in their order.
func (r *reader) follow(page string, untested int) {
	r.t.Helper()
	raw, err := os.ReadFile(filepath.Join("../../etc/doc", page))
	if err != nil {
		r.t.Fatal(err)
	}
	skipped, typed := 0, 0
	for _, b := range blocksOf(string(raw)) {
		if b.file != "" {
			if err := os.WriteFile(filepath.Join(r.dir, b.file), []byte(b.text), 0o644); err != nil {
				r.t.Fatal(err)
			}
		}
		if b.language != "console" {
			continue
		}
		for _, c := range commandsOf(b.text) {
			if strings.Contains(c.line, "# not tested: ") {
				skipped++
				continue
			}
			typed++
			if out, ok := r.waits(c); !ok {
				r.t.Fatalf("%s: $ %s\nprints\n%s\nand the page says\n%s", page, c.line, out, c.want)
			}
			if strings.HasPrefix(c.line, "sluice lab up") {
				r.calm()
			}
		}
	}
	if skipped != untested || typed < 1 {
		r.t.Errorf("%s: %d commands were typed, %d are not tested, want %d", page, typed, skipped, untested)
	}
}

// looking are commands that change nothing: a reader repeats them until they show what the
// page says.
var looking = regexp.MustCompile(`^(squeue|sluice (queue|explain|history|show|status|nodes|logs))\b|; sluice queue`)

// waits types a command, a command that looks until it prints what the page says.
func (r *reader) waits(c command) (out string, ok bool) {
	for deadline := time.Now().Add(3 * time.Minute); ; time.Sleep(300 * time.Millisecond) {
		var err error
		out, err = r.types(c.line)
		wrong := strings.Contains(c.want, "error: ") == (err == nil)
		if !wrong && matches(strings.ReplaceAll(c.want, "ada", r.name), out) {
			return out, true
		}
		if !looking.MatchString(c.line) || time.Now().After(deadline) || r.ctx.Err() != nil {
			return fmt.Sprintf("%s(%v)", out, err), false
		}
	}
}

// block is a fenced part of a page; its file is where it is to be written, if anywhere.
type block struct{ language, file, text string }

var fenced = regexp.MustCompile("(?ms)^( *)```([a-z]+)(?: (\\S+))?\n(.*?)^ *```$")

func blocksOf(page string) (all []block) {
	for _, m := range fenced.FindAllStringSubmatch(page, -1) {
		text := regexp.MustCompile("(?m)^"+m[1]).ReplaceAllString(m[4], "")
		all = append(all, block{m[2], m[3], text})
	}
	return all
}

// command is a line that a page says to type, and what it prints.
type command struct{ line, want string }

func commandsOf(text string) (all []command) {
	goesOn := false
	for line := range strings.SplitSeq(strings.TrimSuffix(text, "\n"), "\n") {
		typed, is := strings.CutPrefix(line, "$ ")
		switch {
		case goesOn:
			all[len(all)-1].line += "\n" + line
		case is:
			all = append(all, command{line: typed})
		case len(all) > 0:
			all[len(all)-1].want += line + "\n"
		}
		goesOn = (is || goesOn) && strings.HasSuffix(line, `\`)
	}
	return all
}

// loose is what differs from run to run in any output: dates, times, decimal fractions, and
// the marks of a speed that is not measured and of a run that goes on.
var loose = regexp.MustCompile(`\d{4}-\d\d-\d\dT[\d:]+Z?|~?\d+(:\d\d)+\+?|~?\d+\.\d+`)

// matches reports whether an output is what a page says: "..." is any text, or any lines if it
// stands alone; N is any whole number; dates, times and fractions are alike, and so are gaps.
func matches(page, out string) bool {
	plain := func(text string) string {
		var lines []string
		for line := range strings.SplitSeq(strings.TrimSpace(text), "\n") {
			lines = append(lines, strings.Join(strings.Fields(loose.ReplaceAllString(line, "0.0")), " "))
		}
		return strings.Join(lines, "\n")
	}
	want := regexp.QuoteMeta(plain(page))
	want = regexp.MustCompile(`(?m)^\\\.\\\.\\\.$\n?`).ReplaceAllString(want, `(?:.*\n)*?`)
	want = strings.ReplaceAll(want, `\.\.\.`, `.*`)
	want = regexp.MustCompile(`\bN(st)?\b`).ReplaceAllString(want, `[0-9]+$1`)
	return regexp.MustCompile(`^` + want + `$`).MatchString(plain(out) + map[bool]string{true: "\n"}[strings.HasSuffix(want, `*?`)])
}

// TestPagesAreCompared: the comparison itself.
func TestPagesAreCompared(t *testing.T) {
	for _, c := range []struct {
		page, out string
		want      bool
	}{
		{"a  1/4  0.5s", "a 1/4 ~12.25s\n", true}, {"a  1/4", "a 2/4", false}, {"N/9st x", "120/9st   x", true}, {"N", "x", false},
		{"a\n...\nz", "a\nb\nc\nz\n", true}, {"a\n...\nz", "a\nz\n", true}, {"a\n...\nz", "a\nb\n", false}, {"a ...", "a b c", true}, {"a\n...", "a\nb\n", true},
		{"at 2026-11-28T04:38:15 0:23+", "at 2027-01-01T00:00:00Z 1:02:03", true}, {"", "", true}, {"", "x", false}, {"job 1", "job 12", false},
	} {
		if got := matches(c.page, c.out); got != c.want {
			t.Errorf("%q is %q: %v", c.page, c.out, got)
		}
	}
	got := blocksOf("x\n```sh f.sh\na\n```\n1. y\n\n   ```console\n   $ b \\\n     c\n   d\n   ```\n")
	if len(got) != 2 || got[0] != (block{"sh", "f.sh", "a\n"}) || len(commandsOf(got[1].text)) != 1 || commandsOf(got[1].text)[0] != (command{"b \\\n  c", "d\n"}) {
		t.Errorf("%q", got)
	}
}
