package fake_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/sluice-hpc/sluice/slurm"
	"github.com/sluice-hpc/sluice/slurm/fake"
)

// A user submits a held job, an operator releases it. Time is virtual: nothing happens
// between two calls of Advance. The first release loses its reply, as the plan says.
func Example() {
	ctx := context.Background()
	f := fake.New(fake.Config{
		Nodes: fake.Grid(3, 4), Operators: []string{"sluice"},
		Faults: fake.MustParse("scontrol release #1: lost-reply"),
	})
	alice, sluice := f.As("alice"), f.As("sluice")
	id, line, _ := alice.Submit(ctx, slurm.Submission{
		Args:  []string{"--hold", "--requeue", "--gpus=2", "-N1"},
		Stdin: []byte("#!/bin/sh\nsleep 600\nexit 3\n"),
	})
	fmt.Println(line)
	err := sluice.Release(ctx, id)
	fmt.Println("released, outcome unknown:", errors.Is(err, slurm.ErrUnknownOutcome))
	for _, d := range []time.Duration{0, 5 * time.Second, 10 * time.Minute} {
		f.Advance(d)
		job, _ := sluice.Job(ctx, id)
		fmt.Println(f.Now().Format(time.TimeOnly), job.State, job.Nodes)
	}
	// Output:
	// Submitted batch job 1
	// released, outcome unknown: true
	// 00:00:00 PENDING []
	// 00:00:05 RUNNING [gpu1]
	// 00:10:05 FAILED [gpu1]
}
