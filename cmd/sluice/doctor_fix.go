package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/sluice-hpc/sluice/cmd/terminal"
	"github.com/sluice-hpc/sluice/etc"
)

// mended is the finding with a setting of sluice.toml that repairs it.
func mended(f finding, section, key, value string) finding {
	f.Set = append(f.Set, etc.Setting{Section: section, Key: key, Value: value})
	return f
}

// fixing is how doctor --fix was called.
type fixing struct {
	dry   bool                 // only the difference
	agree func() (bool, error) // after the difference: whether it is written; errNotAsked = no user can say so
}

// fix shows what the findings recommend for sluice.toml, as a difference of its file, writes it if that is
// agreed to, and names the findings that it cannot repair.
func fix(out io.Writer, p patient, all []finding, how fixing) error {
	var settings []etc.Setting
	for _, f := range all {
		settings = append(settings, f.Set...)
	}
	err := changeFile(out, p, fileToFix(p), settings, how)
	if err != nil && !errors.Is(err, errNotAsked) {
		return err
	}
	return errors.Join(left(out, all), err)
}

// fileToFix is the configuration in force, or the place where sluice looks for one.
func fileToFix(p patient) string {
	switch {
	case p.config != "":
		return p.config
	case p.user:
		return etc.UserFile()
	}
	return etc.SystemFile()
}

// changeFile prints the difference that the settings make to the file, and writes it if that is agreed to.
func changeFile(out io.Writer, p patient, path string, settings []etc.Setting, how fixing) error {
	if target, err := filepath.EvalSymlinks(path); err == nil { // the link stays
		path = target
	}
	before, mode, err := asIs(path)
	if err != nil {
		return err
	}
	base := etc.Default()
	if p.user {
		home, _ := os.UserHomeDir()
		base = etc.UserDefaults(home)
	}
	after, err := etc.Edited(base, path, string(before), settings)
	if err != nil {
		return err
	}
	changes := difference(path, before, []byte(after))
	if changes == "" {
		fmt.Fprintf(out, "\n%s: nothing to change\n", path)
		return nil
	}
	if _, err := fmt.Fprintf(out, "\n%s", changes); err != nil {
		return err // MUST NOT be written: it was not shown
	}
	if how.dry {
		fmt.Fprintf(out, "not written, because of --dry-run: %s\n", path)
		return nil
	}
	switch yes, err := how.agree(); {
	case errors.Is(err, errNotAsked):
		return fmt.Errorf("%s is not changed: %w; to write this without a question, type 'sluice doctor --fix --yes'", path, err)
	case err != nil:
		return err
	case !yes:
		fmt.Fprintf(out, "not written: %s\n", path)
		return nil
	}
	if now, _, err := asIs(path); err != nil || !bytes.Equal(now, before) {
		return fmt.Errorf("%s was changed meanwhile; type 'sluice doctor --fix' again", path)
	}
	old, err := replace(path, after, mode)
	if err != nil {
		return fmt.Errorf("%s cannot be written: %w; as root, or with sudo, type 'sluice doctor --fix'", path, err)
	}
	fmt.Fprintf(out, "wrote %s", path)
	if old != "" {
		fmt.Fprintf(out, "; as it was before it is in %s", old)
	}
	fmt.Fprintf(out, "\n-> let sluiced read it: %s\n", reloadCommand(p.user))
	return nil
}

// asIs returns the text and the mode of the file; of one that does not exist nil and those of a new one.
func asIs(path string) ([]byte, fs.FileMode, error) {
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, 0o644, nil
	}
	if err != nil {
		return nil, 0, err
	}
	if !info.Mode().IsRegular() || info.Size() > 1<<20 {
		return nil, 0, fmt.Errorf("%s: not a file, or above 1 MiB", path)
	}
	raw, err := os.ReadFile(path)
	return append([]byte{}, raw...), info.Mode().Perm(), err
}

// replace writes the file at once and keeps the present one beside it, as FILE.old, FILE.old.2
// and so on: it returns that name, "" if there was no file.
func replace(path, text string, mode fs.FileMode) (old string, err error) {
	dir := filepath.Dir(path)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", err
	}
	f, err := os.CreateTemp(dir, ".sluice-fix-")
	if err != nil {
		return "", err
	}
	defer os.Remove(f.Name()) // fails once it is in place
	_, err = f.WriteString(text)
	if err = errors.Join(err, f.Chmod(mode), f.Sync()); err == nil {
		err = keepOwner(f, path)
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return "", err
	}
	for n := 1; n <= 1000; n++ {
		old = path + ".old"
		if n > 1 {
			old = fmt.Sprintf("%s.old.%d", path, n)
		}
		err = os.Link(path, old)
		if !errors.Is(err, fs.ErrExist) {
			break
		}
	}
	if errors.Is(err, fs.ErrNotExist) {
		old, err = "", nil
	}
	if err != nil {
		return "", err
	}
	return old, os.Rename(f.Name(), path)
}

// keepOwner gives the new file the owner and the group of the present one.
func keepOwner(f *os.File, path string) error {
	info, err := os.Stat(path)
	if err != nil {
		return nil // there is none
	}
	is, ok := info.Sys().(*syscall.Stat_t)
	if !ok || int(is.Uid) == os.Geteuid() && int(is.Gid) == os.Getegid() {
		return nil
	}
	return f.Chown(int(is.Uid), int(is.Gid))
}

func reloadCommand(user bool) string {
	if user {
		return "systemctl --user reload sluiced, or send it SIGHUP"
	}
	return "systemctl reload sluiced, or send it SIGHUP"
}

// left names what has to be repaired by hand, each with what to type.
func left(out io.Writer, all []finding) error {
	var b strings.Builder
	for _, f := range all {
		if f.Verdict == fine || len(f.Set) > 0 {
			continue
		}
		do := f.Do
		if do == "" {
			do = "see sluiced's log"
		}
		fmt.Fprintf(&b, "  %-4s  %s: %s\n        -> %s\n", f.Verdict, f.About, terminal.Escape(oneLine(f.Text)), terminal.Escape(oneLine(do)))
	}
	text := "nothing is left to do by hand\n"
	if b.Len() > 0 {
		text = "left to do by hand:\n" + b.String()
	}
	_, err := io.WriteString(out, text)
	return err
}

// fixFlags are the options of doctor that write.
func fixFlags(c *cobra.Command) (write, yes, dry *bool) {
	write = c.Flags().Bool("fix", false, "show what is recommended for sluice.toml, ask, write it, say what is left")
	yes = c.Flags().BoolP("yes", "y", false, "with --fix: write without a question")
	dry = c.Flags().Bool("dry-run", false, "with --fix: only print what would change")
	c.MarkFlagsMutuallyExclusive("fix", "json")
	c.MarkFlagsMutuallyExclusive("yes", "dry-run")
	return write, yes, dry
}
