package main

import (
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/sluice-hpc/sluice/cmd/terminal"
)

var update = flag.Bool("update", false, "write the golden parts of testdata/*.txt anew; read the diff before you commit it")

// TestMain makes this test binary stand in for sluice in the scripts of testdata.
func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){
		"sluice": func() { os.Exit(terminal.Run(newCommand(), os.Args[1:], os.Stdout, os.Stderr)) },
	})
}

// TestScripts runs testdata/*.txt: what a user types and what is printed.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata",
		UpdateScripts:       *update,
		RequireExplicitExec: true,
		Setup: func(env *testscript.Env) error {
			env.Setenv("HOME", filepath.Join(env.WorkDir, "home"))
			return nil
		},
	})
}

// TestVerbOf: the name under which the program was started says which verb was typed.
func TestVerbOf(t *testing.T) {
	for name, want := range map[string]string{
		"sluice-whatif": "whatif", "sluice-bench-policy": "bench-policy", "sluice-simulate": "simulate",
		"/usr/libexec/sluice/sluice-simulate": "simulate", "anything": "simulate",
	} {
		if got := verbOf(name); got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
}
