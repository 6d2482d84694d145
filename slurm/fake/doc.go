// Package fake is an in-memory Slurm: a seeded discrete-event state machine that
// implements slurm.Client under a virtual clock. It behaves as real Slurm releases were
// measured to behave (package conform), and takes a printable plan of faults.
//
// A test makes one, acts through a Session and advances the clock:
//
//	f := fake.New(fake.Config{Seed: 1, Nodes: fake.Grid(3, 4), Operators: []string{"sluice"}})
//	alice, sluice := f.As("alice"), f.As("sluice")
//	id, _, err := alice.Submit(ctx, slurm.Submission{
//		Args:  []string{"--hold", "--requeue", "--gpus=1", "-N1"},
//		Stdin: []byte("#!/bin/sh\nsleep 600\n"),
//	})
//	err = sluice.Release(ctx, id)
//	f.Advance(5 * time.Second) // the job runs now
//
// Nothing happens between two calls of Advance: calls take no virtual time. The behaviour
// of a job's script is a Program; without Config.Programs the "sleep" and "exit" lines of
// the script are executed. The same seed, configuration and calls give a byte-identical
// Log.
//
// SetLimits sets accounts, QOS, partitions and reservations, whose limits are enforced as
// in Slurm. AddPartition and SetPartitionState are an administrator's commands.
//
// A Plan of faults makes chosen calls fail or lose their reply, or puts an outage, a node
// failure or an action of the job's user before them. It prints as text and parses back,
// so a failing test is reproduced by one line:
//
//	fake.MustParse("scontrol requeuehold #3: lost-reply; at 90s: node-down gpu2")
package fake
