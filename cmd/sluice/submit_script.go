package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/sluice-hpc/sluice/cmd/sweepfile"
	"github.com/sluice-hpc/sluice/cmd/terminal"
	"github.com/sluice-hpc/sluice/sbatch"
)

// read returns the job script and its name: a file, the command of --wrap, or standard
// input, whose name is "".
func (s *submission) read(line sbatch.CommandLine) (name string, body []byte, err error) {
	switch {
	case line.Wrap != nil:
		return "--wrap", sbatch.WrapScript(*line.Wrap), nil
	case line.Script == "":
		if _, err := unix.IoctlGetTermios(int(s.in.Fd()), unix.TCGETS); err == nil {
			fmt.Fprintln(s.errs, "sluice: reading the job script from the terminal; end it with Ctrl-D, or leave with Ctrl-C")
		}
		body, err = sweepfile.ReadScript(s.in, "standard input")
		return "", body, err
	}
	file, err := os.Open(findScript(line.Script, os.Getenv("PATH")))
	if err != nil {
		return "", nil, notFound(err, line)
	}
	defer file.Close()
	body, err = sweepfile.ReadScript(file, line.Script)
	return line.Script, body, err
}

// findScript resolves a name as sbatch does: directly if it begins with a dot or a slash,
// else in this directory, then in those of PATH.
func findScript(name, path string) string {
	if strings.HasPrefix(name, ".") || strings.HasPrefix(name, "/") {
		return name
	}
	for _, dir := range append([]string{"."}, filepath.SplitList(path)...) {
		candidate := filepath.Join(dir, name)
		if _, err := os.Stat(candidate); err == nil {
			return candidate
		}
	}
	return name
}

// notFound is the error for a missing script, with a possible cause.
func notFound(err error, line sbatch.CommandLine) error {
	if len(line.Unknown) == 0 || !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("job script %q: %w", line.Script, terminal.Cause(err))
	}
	return fmt.Errorf("job script %q: %w; is it the value of %s? that is not an option of sbatch's, so write it as %s=VALUE",
		line.Script, terminal.Cause(err), line.Unknown[0], line.Unknown[0])
}
