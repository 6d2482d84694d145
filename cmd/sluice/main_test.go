package main

import (
	"bytes"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/sluice-hpc/sluice/cmd/terminal"
)

var update = flag.Bool("update", false, "write the golden parts of testdata/*.txt anew; read the diff before you commit it")

// TestMain makes this test binary stand in for the programs that the scripts in
// testdata call.
func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){
		"sluice": main,
		"sbatch": fakeSbatch,
	})
}

// TestScripts runs testdata/*.txt: what a user types and what is printed. Every script
// gets an empty folder for jobs and a configuration with it.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata",
		UpdateScripts:       *update,
		RequireExplicitExec: true,
		Cmds:                map[string]func(*testscript.TestScript, bool, []string){"glob": glob, "unread": unread},
		Setup: func(env *testscript.Env) error {
			jobs := filepath.Join(env.WorkDir, "jobs")
			if err := os.Mkdir(jobs, 0o777); err != nil {
				return err
			}
			if err := os.Chmod(jobs, 0o777|os.ModeSticky|os.ModeSetgid); err != nil {
				return err
			}
			conf := filepath.Join(env.WorkDir, "sluice.toml")
			env.Setenv("SLUICE_CONF", conf)
			env.Setenv("HOME", filepath.Join(env.WorkDir, "home"))
			text := fmt.Sprintf("[paths]\njobs = %q\noutbox = %q\nsocket = %q\nsluice = \"/opt/sluice\"\n",
				jobs, filepath.Join(env.WorkDir, "outbox"), filepath.Join(env.WorkDir, "sock"))
			return os.WriteFile(conf, []byte(text), 0o644)
		},
	})
}

// glob PATTERN N fails unless the pattern matches N names.
func glob(ts *testscript.TestScript, neg bool, args []string) {
	names, err := filepath.Glob(ts.MkAbs(args[0]))
	ts.Check(err)
	if same := fmt.Sprint(len(names)) == args[1]; same == neg {
		ts.Fatalf("%s matches %d names: %v", args[0], len(names), names)
	}
}

// unread STREAM HOW PROGRAM... fails unless the program exits with 0 while its stdout or stderr is
// full (/dev/full) or closed (a pipe that nobody reads). The other one is kept in the file "read".
func unread(ts *testscript.TestScript, neg bool, args []string) {
	sink, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if args[1] == "closed" {
		var reader *os.File
		if reader, sink, err = os.Pipe(); err == nil {
			err = reader.Close()
		}
	}
	ts.Check(err)
	defer sink.Close()
	var other bytes.Buffer
	cmd := exec.Command("sh", append([]string{"-c", `exec "$@"`, "sh"}, args[2:]...)...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = ts.MkAbs("."), &other, sink
	if args[0] == "stdout" {
		cmd.Stdout, cmd.Stderr = sink, &other
	}
	for _, name := range []string{"PATH", "WORK", "HOME", "SLUICE_CONF", "FAKE_CODE", "FAKE_WORDS", "FAKE_OUT"} {
		cmd.Env = append(cmd.Env, name+"="+ts.Getenv(name))
	}
	err = cmd.Run()
	ts.Check(os.WriteFile(ts.MkAbs("read"), other.Bytes(), 0o600))
	if (err == nil) == neg {
		ts.Fatalf("%v: %v", args, err)
	}
}

var tokens = regexp.MustCompile(`\b[0-9a-f]{32}\b`)

// fakeSbatch records how it was called in $WORK/sbatch.*, with the token and
// the work directory replaced by words, and answers as FAKE_* say:
// FAKE_OUT is its line, FAKE_WORDS what it says on standard error, FAKE_CODE
// its exit code, FAKE_DIES makes it kill itself.
func fakeSbatch() {
	work := os.Getenv("WORK")
	hide := func(text string) string {
		return strings.ReplaceAll(tokens.ReplaceAllString(text, "TOKEN"), work, "$WORK")
	}
	record := func(name, text string) {
		if err := os.WriteFile(filepath.Join(work, name), []byte(hide(text)), 0o600); err != nil {
			panic(err)
		}
	}
	record("sbatch.args", strings.Join(os.Args[1:], "\n")+"\n")
	stdin, _ := io.ReadAll(os.Stdin)
	record("sbatch.stdin", string(stdin))
	if _, wait := os.LookupEnv("SBATCH_WAIT"); wait {
		record("sbatch.waits", "")
	}
	for _, arg := range os.Args[1:] {
		if strings.HasPrefix(arg, work) && strings.HasSuffix(arg, "/batch") {
			body, _ := os.ReadFile(arg)
			record("sbatch.batch", string(body))
		}
	}
	if words := os.Getenv("FAKE_WORDS"); words != "" {
		fmt.Fprintln(os.Stderr, words)
	}
	if os.Getenv("FAKE_DIES") != "" {
		self, _ := os.FindProcess(os.Getpid())
		self.Kill()
		select {}
	}
	code := 0
	fmt.Sscan(os.Getenv("FAKE_CODE"), &code)
	if code == 0 {
		answerAs(os.Args[1:])
	}
	os.Exit(code)
}

// answerAs prints what sbatch prints when it took the job.
func answerAs(args []string) {
	line := os.Getenv("FAKE_OUT")
	for _, arg := range args {
		switch {
		case line != "":
		case arg == "--test-only":
			fmt.Fprintln(os.Stderr, "sbatch: Job 4712 to start at 2026-11-21T10:00:00 using 1 processors on nodes gpu1 in partition gpu")
			return
		case arg == "--parsable":
			line = "4711"
		}
	}
	if line == "" {
		line = "Submitted batch job 4711"
	}
	fmt.Println(line)
}

func TestRunPrintsErrors(t *testing.T) {
	var out, errs bytes.Buffer
	if code := run([]string{"no-such-verb"}, &out, &errs); code != 1 || !strings.HasPrefix(errs.String(), "sluice: error: unknown command") {
		t.Errorf("%d: %s", code, errs.String())
	}
	if code := run([]string{"--version"}, &out, &errs); code != 0 || out.String() != "sluice unknown\n" {
		t.Errorf("%d: %s", code, out.String())
	}
	out.Reset()
	if code := run([]string{"submit", "-h"}, &out, &errs); code != 0 || !strings.Contains(out.String(), "--min-gpus=N") {
		t.Errorf("%d: %s", code, out.String())
	}
	terminal.Complain(&errs, fmt.Errorf("one\ntwo"))
	if !strings.HasSuffix(errs.String(), "sluice: error: one\nsluice: error: two\n") {
		t.Error(errs.String())
	}
}
