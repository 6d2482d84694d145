// Package command speaks to a Slurm through its own programs: sbatch, scontrol,
// scancel, squeue and sinfo.
//
// Every call is an argument vector, never a shell line. The program is an absolute path
// found once. The environment is built, not inherited, except for sbatch, which gets the
// user's. A deadline ends the whole process group. Output is bounded. Failures come back
// as *slurm.Error. The output of the programs is read by pure functions, tested on
// recorded answers of Slurm 20.11, 22.05, 24.11 and 26.05 in testdata.
//
// To support another release, record its answers into testdata (see
// testdata/README.md) and run the tests.
package command
