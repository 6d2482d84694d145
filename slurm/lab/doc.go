// Package lab runs a real Slurm on one machine: a private munged, slurmctld and
// several slurmd on loopback, each with character-device GPUs, everything under
// one directory. It is for trying sluice out, for the demo and for tests.
//
//	l, err := lab.Up(ctx, lab.Config{Dir: dir, Nodes: 3, GPUs: 4})
//	cmd := l.Command(ctx, "sbatch", "--gpus=2", "job.sh")
//	err = l.Down(ctx) // stops it and leaves nothing behind
//
// The daemons outlive the process that started them; Open finds them again.
// There are no pid files to go stale: a lab's processes are recognised in /proc
// by what they run, namely one of the daemons with an argument naming a file of
// this lab, or something those started. A signal is sent through a handle that
// pins the process, after its start time was compared, so a number that the
// kernel gave to somebody else is never hit.
//
// Root gets a lab whose jobs run as any Unix user and whose SlurmUser is a
// separate account. An ordinary user gets the same lab with jobs of his own.
package lab
