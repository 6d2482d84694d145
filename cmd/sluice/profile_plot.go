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

// plotLimit bounds the time for drawing.
const plotLimit = time.Minute

// plotter finds the program that draws. It is a separate program because its fonts would
// slow down every start of sluice.
func plotter() (string, error) {
	const name = "sluice-plot"
	path := companion(name)
	if path == "" {
		return "", fmt.Errorf("-o: %s, which draws, is not installed; type 'make build' in a source tree, or leave -o out (--json has all figures)", name)
	}
	return path, nil
}

// plot draws the profile into a file.
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
