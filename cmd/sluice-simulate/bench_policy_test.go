package main

import (
	"bytes"
	"strings"
	"testing"

	"github.com/sluice-hpc/sluice/cmd/terminal"
)

func TestBenchPolicyRefusals(t *testing.T) {
	for args, want := range map[string]string{
		"--figure 7": "--figure 7: there are [1 2 3 4 5 6 8 9 10 11 12 14 15]",
		"--seeds -1": "--seeds -1: want 1 to 10000",
	} {
		var out, errs bytes.Buffer
		if code := terminal.Run(newCommand(), append([]string{"bench-policy"}, strings.Fields(args)...), &out, &errs); code != 1 || !strings.Contains(errs.String(), want) {
			t.Errorf("%s: %d, %q", args, code, errs.String())
		}
	}
}

func TestBenchPolicyWithoutData(t *testing.T) {
	var out, errs bytes.Buffer
	if code := terminal.Run(newCommand(), []string{"bench-policy", "--data", t.TempDir(), "--figure", "2"}, &out, &errs); code != 0 {
		t.Errorf("code %d", code)
	}
	if !strings.Contains(errs.String(), "SLUICE_DATA") || !strings.Contains(out.String(), "not measured") {
		t.Errorf("stderr %q, stdout %q", errs.String(), out.String())
	}
}
