package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os/exec"
	"strings"
	"time"

	"github.com/sluice-hpc/sluice/elastic/learn/speed"
)

// plotLimit is how long drawing may take.
const plotLimit = time.Minute

// plotter finds the program that draws: beside this one, else in PATH. It is one of
// its own, because its fonts would slow every start of sluice.
func plotter() (string, error) {
	const name = "sluice-plot"
	if path := beside(name); path != "" {
		return path, nil
	}
	path, err := exec.LookPath(name)
	if err != nil {
		return "", fmt.Errorf("-o: %s, which draws, is neither beside sluice nor in PATH; install it, or leave -o out (--json has all figures)", name)
	}
	return path, nil
}

// plot has the profile drawn into a file.
func plot(ctx context.Context, r speed.Profile, file string) error {
	program, err := plotter()
	if err != nil {
		return err
	}
	data, err := json.Marshal(r)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, plotLimit)
	defer cancel()
	cmd := exec.CommandContext(ctx, program, "-o", file)
	cmd.Stdin = bytes.NewReader(data)
	if said, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w: %s", program, err, strings.TrimSpace(string(said)))
	}
	return nil
}
