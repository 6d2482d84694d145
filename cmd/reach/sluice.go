package reach

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"
)

// Sluice is the path of the program sluice that belongs to the running program: in its folder, as in bin/ of a
// source tree, or, of an installation, in ../../bin from libexec/sluice. It is never searched in PATH.
func Sluice() (string, error) {
	self, err := os.Executable()
	if err != nil {
		return "", err
	}
	if self, err = filepath.EvalSymlinks(self); err != nil {
		return "", err
	}
	dir := filepath.Dir(self)
	for _, path := range []string{filepath.Join(dir, "sluice"), filepath.Join(dir, "..", "..", "bin", "sluice")} {
		if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0 {
			return filepath.Clean(path), nil
		}
	}
	return "", fmt.Errorf("sluice is not beside %s; install the package sluice, or type 'make build' in a source tree", self)
}

// Options are the options with which sluice asks the sluiced that a command asks, in whatever folder it runs:
// those of its --config and --user.
func Options(cmd *cobra.Command) (all []string, err error) {
	if file, _ := cmd.Flags().GetString("config"); file != "" {
		if file, err = filepath.Abs(file); err != nil {
			return nil, err
		}
		all = append(all, "--config="+file)
	}
	if f := cmd.Flags().Lookup("user"); f != nil && f.Changed {
		all = append(all, "--user="+f.Value.String())
	}
	return all, nil
}
