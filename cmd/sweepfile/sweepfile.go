// Package sweepfile reads a sweep that is written as a file of its own, rather than in the header of a job
// script: in TOML, with the names of sluice's options as keys, or in YAML as Weights & Biases has it.
package sweepfile

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/sluice-hpc/sluice/cmd/terminal"
	"github.com/sluice-hpc/sluice/elastic/sweep"
	"github.com/sluice-hpc/sluice/sbatch"
)

// file is a sweep's file as it was read.
type file struct {
	name    string
	given   []sbatch.Given // sluice's options
	words   []sbatch.Given // sbatch's
	script  string         // path, relative to the file
	command string
}

// kind is "toml" or "yaml" if the name is that of a sweep's file, else "".
func kind(name string) string {
	switch strings.ToLower(filepath.Ext(name)) {
	case ".toml":
		return "toml"
	case ".yaml", ".yml":
		return "yaml"
	}
	return ""
}

// Parse reads a job script, or by its name a sweep's file, and then the script that the file names. read is
// that script if it was read before, nil if not; it is returned as it was read. Errors of a file have its line
// and column.
func Parse(name string, body, read []byte) (sbatch.Script, []byte, error) {
	var f file
	var err error
	switch kind(name) {
	case "toml":
		f, err = readTOML(name, string(body))
	case "yaml":
		f, err = readYAML(name, body)
	default:
		script, err := sbatch.ParseScript(name, body)
		return script, read, err
	}
	if err != nil {
		return sbatch.Script{}, read, err
	}
	script := sbatch.Command(f.command)
	if f.script != "" {
		path := f.script
		if !filepath.IsAbs(path) {
			path = filepath.Join(filepath.Dir(name), path)
		}
		if read == nil {
			opened, err := os.Open(path)
			if err != nil {
				return sbatch.Script{}, nil, fmt.Errorf("%s: script %q: %w", name, path, terminal.Cause(err))
			}
			defer opened.Close()
			if read, err = ReadScript(opened, path); err != nil {
				return sbatch.Script{}, nil, err
			}
		}
		script, name = read, path
	}
	parsed, wrong := sbatch.ParseScript(name, script)
	with, more := parsed.With(f.name, f.given, f.words)
	return with, read, errors.Join(wrong, more)
}

// ReadScript reads a job script, or a sweep's file. Of one that is too large it reads so much that the parser
// refuses it.
func ReadScript(opened *os.File, name string) ([]byte, error) {
	if info, err := opened.Stat(); err == nil && info.IsDir() {
		return nil, fmt.Errorf("%q is a directory, not a job script", name)
	}
	body, err := io.ReadAll(io.LimitReader(opened, sbatch.MaxScript+1)) // one byte more: the parser says the limit
	if err != nil {
		return nil, fmt.Errorf("job script %q: %w", name, terminal.Cause(err))
	}
	return body, nil
}

// complete refuses a file without anything to run.
func (f file) complete() error {
	if (f.script == "") == (f.command == "") {
		return fmt.Errorf("%s: want either script = \"train.sh\" or command = \"python3 train.py --lr {lr}\"", f.name)
	}
	return nil
}

// ShellWord is one word for a shell.
func ShellWord(word string) string {
	if word != "" && sweep.Plain(word) == nil {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}
