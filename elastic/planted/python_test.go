package planted

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"time"
)

// interpreter is the Python that has PyTorch where Debian's packages are installed.
const interpreter = "/usr/bin/python3"

// pythonMutants makes the mutants of a Python file with Python's own parser.
var pythonMutants = func() func(string) ([]mutant, error) {
	var known sync.Map
	return func(file string) ([]mutant, error) {
		if list, ok := known.Load(file); ok {
			return list.([]mutant), nil
		}
		say := exec.Command(interpreter, "testdata/mutants/mutants.py", filepath.Join(source, file))
		var wrong bytes.Buffer
		say.Stderr = &wrong
		out, err := say.Output()
		if err != nil {
			return nil, fmt.Errorf("%s: %w\n%s", file, err, &wrong)
		}
		var list []struct {
			Name             string
			Line, Start, End int
			Text             string
		}
		if err := json.Unmarshal(out, &list); err != nil {
			return nil, err
		}
		var all []mutant
		for _, m := range list {
			all = append(all, mutant{Name: file + ": " + m.Name, file: file, line: m.Line, start: m.Start, end: m.End, text: m.Text})
		}
		known.Store(file, all)
		return all, nil
	}
}()

var (
	pythonFail = regexp.MustCompile(`(?m)^(?:FAIL|ERROR): (\S+)`)
	pythonRan  = regexp.MustCompile(`(?m)^Ran [1-9][0-9]* tests? in`)
)

// tryPython runs tests on a copy of the library, and ends every process they started.
func (b *bench) tryPython(ctx context.Context, l look, m mutant) (outcome, error) {
	dir, err := os.MkdirTemp(b.dir, "python")
	if err != nil {
		return outcome{}, err
	}
	defer os.RemoveAll(dir)
	if err := os.CopyFS(dir, os.DirFS(filepath.Join(source, l.dir))); err != nil {
		return outcome{}, err
	}
	if m.number != 0 {
		_, is, err := m.change()
		if err != nil {
			return outcome{}, err
		}
		if err := os.WriteFile(filepath.Join(dir, strings.TrimPrefix(m.file, l.dir+"/")), []byte(is), 0o600); err != nil {
			return outcome{}, err
		}
	}
	ctx, cancel := context.WithTimeout(ctx, l.limit)
	defer cancel()
	run := exec.CommandContext(ctx, interpreter, append([]string{"-m", "unittest", "-f"}, strings.Fields(l.run)...)...)
	run.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	run.Cancel = func() error { return syscall.Kill(-run.Process.Pid, syscall.SIGKILL) }
	run.Dir = dir
	run.Env = append(os.Environ(), "PYTHONDONTWRITEBYTECODE=1")
	run.WaitDelay = time.Second
	began := time.Now()
	text, err := run.CombinedOutput()
	o := judgePython(string(text), err, errors.Is(ctx.Err(), context.DeadlineExceeded))
	o.took = time.Since(began)
	if run.Process != nil {
		_ = syscall.Kill(-run.Process.Pid, syscall.SIGKILL) // what its tests left running
	}
	return o, nil
}

func judgePython(text string, err error, late bool) outcome {
	o := outcome{text: text}
	fails := pythonFail.FindStringSubmatch(text)
	var exit *exec.ExitError
	switch {
	case late:
		o.verdict = hung
	case err == nil && pythonRan.MatchString(text):
		o.verdict = passed
	case err == nil:
		o.verdict = idle
	case errors.As(err, &exit) && exit.ExitCode() == 1 && fails != nil:
		o.verdict, o.test = failed, fails[1]
	default:
		o.verdict = ended(err)
		o.text += fmt.Sprintf("\n(%v)", err)
	}
	return o
}
