// Package fake is an in-memory Slurm: a seeded discrete-event state machine that
// implements slurm.Client under a virtual clock, behaving as the real one was
// measured to behave, together with a printable plan of faults.
//
// A test makes one, acts through a Session and moves the time by hand:
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
// Nothing happens between two calls of Advance: calls take no virtual time. What
// a job's script does is a Program; without Config.Programs the script's "sleep"
// and "exit" lines are understood. The same seed, configuration and calls give a
// byte-identical Log.
//
// SetLimits gives it accounts, QOS, partitions and reservations, whose limits it enforces
// as Slurm does; AddPartition and SetPartitionState are an administrator's.
//
// A Plan of faults makes chosen calls fail, lose their reply or be preceded by an
// outage, a failing node or an action of the job's user; it prints as text and
// parses back, so that a failing test is reproduced by one line:
//
//	fake.MustParse("scontrol requeuehold #3: lost-reply; at 90s: node-down gpu2")
package fake
