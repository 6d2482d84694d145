package main

import (
	"os"
	"path/filepath"
)

// gaugeProgram returns the path of sluice-nvml, which lies beside this program; ""
// where it was not installed.
func gaugeProgram() string {
	self, err := os.Executable()
	if err != nil {
		return ""
	}
	path := filepath.Join(filepath.Dir(self), "sluice-nvml")
	if info, err := os.Stat(path); err != nil || !info.Mode().IsRegular() {
		return ""
	}
	return path
}
