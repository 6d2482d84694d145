package main

import (
	"os"
	"path/filepath"
)

// beside returns the path of another of sluice's programs, which lies beside this
// one; "" where it was not installed.
func beside(name string) string {
	self, err := os.Executable()
	if err != nil {
		return ""
	}
	path := filepath.Join(filepath.Dir(self), name)
	if info, err := os.Stat(path); err != nil || !info.Mode().IsRegular() || info.Mode()&0o111 == 0 {
		return ""
	}
	return path
}
