// Package lab runs a real Slurm on one machine: a private munged, slurmctld and several
// slurmd on loopback, with character devices as GPUs, everything under one directory. It
// is for trying sluice, for the demo and for tests.
//
//	l, err := lab.Up(ctx, lab.Config{Dir: dir, Nodes: 3, GPUs: 4})
//	cmd := l.Command(ctx, "sbatch", "--gpus=2", "job.sh")
//	err = l.Down(ctx) // stops it and removes everything
//
// The daemons outlive the process that started them; Open finds them again. There are no
// pid files: a lab's processes are recognised in /proc by their command, which is one of
// the daemons with an argument naming a file of this lab, or by being a descendant of
// those. A signal is sent through a pidfd, after the start time was compared, so a
// process that got a reused PID is never signalled.
//
// Started by root, a lab runs jobs as any Unix user, and SlurmUser is a separate account.
// Started by an ordinary user, it runs that user's jobs only.
package lab
