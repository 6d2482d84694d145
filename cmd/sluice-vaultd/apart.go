package main

import (
	"fmt"
	"path/filepath"
	"slices"

	"github.com/sluice-hpc/sluice/elastic/vault"
	"github.com/sluice-hpc/sluice/etc"
)

// places are a folder, and what it is without symbolic links if it is there.
func places(folder string) []string {
	if real, err := filepath.EvalSymlinks(folder); err == nil && real != folder {
		return []string{folder, real}
	}
	return []string{folder}
}

// meeting reports whether a folder is, contains or lies in one of the others, which have no links on the way to them.
func meeting(folder string, others ...string) bool {
	for _, at := range places(folder) {
		if slices.ContainsFunc(others, func(o string) bool { return vault.Overlaps(at, o) }) {
			return true
		}
	}
	return false
}

// openTo returns the first path of the site's list, which every confined job can read, that is, contains or lies in one of the
// folders; "" if there is none.
func openTo(d etc.Data, folders ...string) string {
	for _, listed := range slices.Concat(d.System, d.Software) {
		if meeting(listed, folders...) {
			return listed
		}
	}
	return ""
}

// apart reports why every confined job could read the vault.
func apart(d etc.Data) error {
	if listed := openTo(d, places(d.Root)...); listed != "" {
		return fmt.Errorf("every job on a data set could read [data] root %s: it shares folders with %s of [data] system or software; take that out of the list", d.Root, listed)
	}
	return nil
}
