package main

import (
	"strings"
	"testing"

	"github.com/sluice-hpc/sluice/sbatch"
	"github.com/sluice-hpc/sluice/slurm"
)

// sizedFor reads a command line as submit does.
func sizedFor(t *testing.T, line string) sbatch.Request {
	t.Helper()
	c, err := sbatch.ParseCommandLine(append(strings.Fields(line), "--wrap=true"))
	if err != nil {
		t.Fatal(err)
	}
	r, err := sbatch.Merge(c, nil, sbatch.Script{})
	if err != nil {
		t.Fatal(line, err)
	}
	return r
}

// TestTooMany: a size is refused that no partition of the job could give if all its nodes
// were up and empty, as sbatch refuses it; one that the nodes of today could not give, but
// those of tomorrow could, is not.
func TestTooMany(t *testing.T) {
	inventory := []slurm.Node{
		{Name: "a1", Partitions: []string{"gpu", "all"}, GPUs: 4, GPUType: "a100", States: []string{"IDLE"}},
		{Name: "a2", Partitions: []string{"gpu", "all"}, GPUs: 4, GPUType: "a100", States: []string{"DOWN", "DRAIN"}, GPUsUsed: 4},
		{Name: "a3", Partitions: []string{"gpu", "all"}, GPUs: 4, GPUType: "a100", States: []string{"IDLE", "POWERED_DOWN"}},
		{Name: "t1", Partitions: []string{"all"}, GPUs: 2, GPUType: "t4"},
		{Name: "m1", Partitions: []string{"mix"}, GPUs: 3, Types: []slurm.OfType{{Type: "a100", GPUs: 1}, {Type: "h100", GPUs: 2}}},
		{Name: "c1", Partitions: []string{"cpu"}},
		{Name: "i1", Partitions: []string{"mig"}, Slices: 7},
		{Name: "u1", Partitions: []string{"odd"}, States: []string{"UNKNOWN"}},
	}
	for _, tc := range []struct{ line, names, want string }{
		{"--gpus=12", "gpu", ""},
		{"--gpus=13", "gpu", "--gpus=13 (the command line): the job would never start: partition gpu has 12 GPUs on 3 nodes; give --gpus=12 or less"},
		{"--gpus=13", "all", "cannot be split evenly over the 4 nodes of partition all, which has 14 GPUs; give --allow-uneven, or --gpus=12 or another size that splits"},
		{"--gpus=13 --allow-uneven", "all", ""},
		{"--gpus=13", "mix,gpu", "partition gpu has 12 GPUs on 3 nodes, and the job's other partitions do not have more; give --gpus=12 or less"},
		{"--gpus=12", "mix,gpu", ""},
		{"--gpus=13", "hidden", ""},     // sbatch knows whether there is one
		{"--gpus=13", "gpu,hidden", ""}, // and what it has
		{"--gpus=13", "", ""},           // no default partition
		{"--gpus=2", "odd", ""},
		{"--gpus=2", "mig", ""},
		{"--gpus=2", "cpu", "partition cpu has no GPUs; name another partition with --partition"},
		{"--gres=gpu:5", "gpu", "--gres=gpu:5 (the command line): the job would never start: no node of partition gpu has more than 4 GPUs; give --gres=gpu:4 or less"},
		{"--gres=gpu:6", "gpu", "give --gres=gpu:4 or less, or --gpus=6 without a number of nodes"},
		{"-N1 --gpus=5", "gpu", "--gpus=5 (the command line) with -N1 (the command line): the job would never start: no node"},
		{"--gpus=t4:3", "all", "partition all has 2 GPUs of type t4 on 1 node; give --gpus=t4:2 or less"},
		{"--gpus=t4:1", "gpu", "partition gpu has no GPUs of type t4; it has a100: choose one of these, or leave the type out"},
		{"--gpus=h100:3", "mix", "partition mix has 2 GPUs of type h100"},
		{"--gpus=h100:2", "mix", ""},
		{"--min-gpus=4 --max-gpus=8 --gpu-types=t4,a100", "all", ""},
		{"--min-gpus=4 --max-gpus=8 --gpu-types=t4,h100", "gpu", "no GPUs of type t4 or h100"},
		{"--min-gpus=13", "gpu", "--min-gpus=13 (the command line): the job would never start: partition gpu has 12 GPUs on 3 nodes; give --min-gpus=12 or less"},
		{"--min-gpus=9 --max-gpus=99", "gpu", ""},
		{"--min-gpus=11", "gpu", ""}, // grows to 12
		{"--min-gpus=11 --max-gpus=11", "gpu", "give --allow-uneven, or --min-gpus=9 or"},
		{"--gpu-sizes=16,24", "gpu", "give --gpu-sizes with a size of 12 or less"},
		{"--gpu-sizes=5,8", "gpu", ""},
	} {
		r := sizedFor(t, tc.line)
		var names []string
		if tc.names != "" {
			names = strings.Split(tc.names, ",")
		}
		err := tooMany(r.Spec, r.LeastFrom(), names, inventory)
		if (err == nil) != (tc.want == "") || err != nil && !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s in %q: %v", tc.line, tc.names, err)
		}
	}
}

// TestUsedPartitions: a job that names no partition has the default one.
func TestUsedPartitions(t *testing.T) {
	all := []slurm.Partition{{Name: "a"}, {Name: "b", Default: true}}
	if got := usedPartitions(nil, all); len(got) != 1 || got[0] != "b" {
		t.Errorf("%q", got)
	}
	if got := usedPartitions([]string{"x"}, all); len(got) != 1 || got[0] != "x" {
		t.Errorf("%q", got)
	}
}
