package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/sluice-hpc/sluice/cmd/convert"
	"github.com/sluice-hpc/sluice/cmd/terminal"
	"github.com/sluice-hpc/sluice/sbatch"
)

func newInitCommand() *cobra.Command {
	var write bool
	c := &cobra.Command{
		Use:   "init JOB.sh [TRAIN.py]",
		Short: "Make an sbatch script and its training program elastic, as a diff to review",
		Long: `Prints, as a unified diff, how a job script becomes elastic: a #SLUICE line with a
range of sizes instead of its number of GPUs, and 'sluice ranks' before its training.
A plain PyTorch DDP program gets sluice.torch for its loop over epochs and batches.

What it does not understand it leaves alone, and says so. Nothing is written before a
yes on a terminal, or without --write.`,
		Example: "  sluice init job.sh\n  sluice init job.sh train.py --write",
		Args:    cobra.RangeArgs(1, 2),
		RunE: func(cmd *cobra.Command, args []string) error {
			changes, err := proposals(cmd, args)
			if err != nil || len(changes) == 0 {
				return err
			}
			if !write {
				if yes, err := agreed(cmd); !yes || err != nil {
					return nil // the difference alone
				}
			}
			for _, c := range changes {
				if err := c.write(); err != nil {
					return err
				}
				fmt.Fprintf(cmd.ErrOrStderr(), "sluice: %s is changed\n", terminal.Escape(c.path))
			}
			return nil
		},
	}
	c.Flags().BoolVar(&write, "write", false, "write the changes without a question")
	return c
}

// fileChange is a file and what it becomes.
type fileChange struct {
	path     string
	old, new []byte
}

// proposals prints the differences, and the notes to stderr.
func proposals(cmd *cobra.Command, args []string) (all []fileChange, err error) {
	script, err := source(args[0])
	if err != nil {
		return nil, err
	}
	program := ""
	if len(args) > 1 {
		program = args[1]
	}
	p, wants := convert.Script(args[0], string(script), program)
	notes := p.Notes
	if program == "" {
		all = append(all, fileChange{args[0], script, []byte(p.Text)})
	} else {
		text, err := source(program)
		if err != nil {
			return nil, err
		}
		of := convert.Program(program, string(text), wants.Ranks)
		if of.Unknown && p.Text != string(script) { // one without the other: other sizes would train with other batches
			p.Text, notes = string(script), []string{fmt.Sprintf("%s: not changed either, since %s may train with another batch at other sizes; 'sluice init %s' changes it alone", args[0], program, args[0])}
		}
		notes = append(notes, of.Notes...)
		all = append(all, fileChange{args[0], script, []byte(p.Text)}, fileChange{program, text, []byte(of.Text)})
	}
	changed := all[:0]
	for _, c := range all {
		if bytes.Equal(c.old, c.new) {
			continue
		}
		changed = append(changed, c)
		if _, err := io.WriteString(cmd.OutOrStdout(), difference(c.path, c.old, c.new)); err != nil {
			return nil, err
		}
	}
	for _, n := range notes {
		fmt.Fprintln(cmd.ErrOrStderr(), "sluice:", terminal.Escape(n))
	}
	return changed, nil
}

// source reads a file of the user's.
func source(path string) ([]byte, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	info, err := file.Stat()
	switch {
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("%s is not a regular file", terminal.Escape(path))
	case info.Size() > sbatch.MaxScript:
		return nil, fmt.Errorf("%s has more than %d bytes", terminal.Escape(path), sbatch.MaxScript)
	}
	text, err := io.ReadAll(io.LimitReader(file, sbatch.MaxScript))
	if err == nil && bytes.IndexByte(text, 0) >= 0 {
		err = fmt.Errorf("%s is not a text file", terminal.Escape(path))
	}
	return text, err
}

// write replaces the file at once, unless it is no longer what the difference was made from.
func (c fileChange) write() error {
	path, err := filepath.EvalSymlinks(c.path)
	if err != nil {
		return err
	}
	if now, err := source(path); err != nil || !bytes.Equal(now, c.old) {
		return fmt.Errorf("%s was changed meanwhile; type the command again", terminal.Escape(c.path))
	}
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	out, err := os.CreateTemp(filepath.Dir(path), ".sluice-init-*")
	if err != nil {
		return err
	}
	defer os.Remove(out.Name()) // does not exist any more after success
	_, err = out.Write(c.new)
	if err == nil {
		err = out.Chmod(info.Mode().Perm())
	}
	if err == nil {
		err = out.Sync()
	}
	if closing := out.Close(); err == nil {
		err = closing
	}
	if err == nil {
		err = os.Rename(out.Name(), path)
	}
	return err
}
