// Package command speaks to a Slurm through its own programs: sbatch, scontrol,
// scancel, squeue and sinfo.
//
// Every call is an argument vector, never a shell line; the program is an
// absolute path found once; the environment is built, not inherited (sbatch
// alone runs in its user's); a deadline ends the whole process group; output is
// bounded; failures come back as *slurm.Error. What the programs print is read
// by pure functions, tested on recorded answers of Slurm 20.11, 22.05, 24.11 and
// 26.05 in testdata.
//
// To support another release, record its answers into testdata (see
// testdata/README.md) and run the tests.
package command
