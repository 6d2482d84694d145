package sbatch

import (
	"slices"
	"strings"
	"testing"
)

func TestNearest(t *testing.T) {
	names := []string{"max-gpus", "min-gpus", "epochs", "steps", "mem", "gpus"}
	for name, want := range map[string]string{
		"maxgpus": "max-gpus", "MAX_GPUS": "max-gpus", "mx-gpus": "max-gpus", "epoch": "epochs", "step": "steps",
		"nothing": "", "": "", "-": "", "me": "mem", "gpu": "gpus", "zzzz": "",
		"memm": "mem", "mex": "mem", "mxx": "", "gpusab": "gpus", "stpsx": "steps", "gpusabc": "", "xpochz": "epochs", "xpxchz": "", "epchs": "epochs", "pchs": "",
	} {
		if got := Nearest(name, names); got != want {
			t.Errorf("%q: %q, want %q", name, got, want)
		}
	}
	if got := Nearest("mon-gpus", []string{"max-gpus", "min-gpus"}); got != "min-gpus" {
		t.Errorf("nearer one: %q", got)
	}
	if got := Nearest("mbn-gpus", []string{"man-gpus", "min-gpus"}); got != "" {
		t.Errorf("two are as near: %q", got)
	}
}

func TestMisspelt(t *testing.T) {
	c, err := ParseCommandLine([]string{"--maxgpus=4", "--min-gpus=1", "--bf-license=x", "--max-g=2", "job.sh"})
	if err != nil {
		t.Fatal(err)
	}
	if got := c.Misspelt(); !slices.Equal(got, []string{"--maxgpus: did you mean --max-gpus?"}) {
		t.Errorf("%q", got)
	}
	_, err = ParseScript("job.sh", []byte("#!/bin/sh\n#SLUICE --maxgpus=4\n"))
	if err == nil || !strings.Contains(err.Error(), "did you mean --max-gpus?") || strings.Contains(err.Error(), "#SBATCH line") {
		t.Errorf("in a script: %v", err)
	}
}
