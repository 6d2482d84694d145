package command

import (
	"fmt"
	"testing"

	"github.com/sluice-hpc/sluice/slurm"
)

// Weights as slurm.conf(5) writes them, and as people do.
func TestBillingWeights(t *testing.T) {
	for text, want := range map[string]string{
		"":                                      "[]",
		"(null)":                                "[]",
		"CPU=1.0,Mem=0.25G,GRES/gpu=2.0":        "[{cpu 1} {mem 0.000244140625} {gres/gpu 2}]",
		"cpu=.5,NODE=7,gres/gpu:A100=1e2,Mem=2": "[{cpu 0.5} {node 7} {gres/gpu:a100 100} {mem 2}]",
		"mem=1T,CPU=1K,license/x=4,bb/cray=1":   "[{mem 9.5367431640625e-07} {cpu 0.0009765625}]",
		"GRES/gpu:a100=2,GRES/gpu=0,GRES/shard=.1": "[{gres/gpu:a100 2} {gres/gpu 0}]",
	} {
		if got, err := weights(text); err != nil || fmt.Sprint(got) != want {
			t.Errorf("%q is %v, %v; want %s", text, got, err, want)
		}
	}
	for _, text := range []string{"CPU", "CPU=", "Mem=G", "CPU=x", "CPU=-1", "CPU=0x10", "CPU=NaN", "CPU=1e999", "CPU=1,Mem"} {
		if got, err := weights(text); err == nil {
			t.Errorf("%q was read as %v", text, got)
		}
	}
}

// What Slurm does not track it does not bill.
func TestWeightsOfWhatIsTracked(t *testing.T) {
	const config = "ClusterName = c\nSLURM_VERSION = 22.05.8\nAccountingStorageTRES = cpu,mem,energy,node,billing,fs/disk,vmem,pages,gres/gpu\nPriorityFlags = %s\nSelectTypeParameters = %s\n"
	for _, c := range []struct{ flags, selects, want string }{
		{"", "CR_CORE", "[{cpu 1} {gres/gpu 2}] 0"},
		{"MAX_TRES", "CR_CORE_MEMORY", "[{cpu 1} {mem 3} {gres/gpu 2}] 1"},
		{"FAIR_TREE,MAX_TRES_GRES", "CR_CORE_MEMORY", "[{cpu 1} {mem 3} {gres/gpu 2}] 2"},
	} {
		site, err := parseAccounting(fmt.Sprintf(config, c.flags, c.selects))
		if err != nil {
			t.Fatal(err)
		}
		list := []slurm.Partition{{Weights: []slurm.Weight{{Of: "cpu", N: 1}, {Of: "mem", N: 3}, {Of: "gres/gpu", N: 2}, {Of: "gres/gpu:a100", N: 9}}}}
		site.tracks(list)
		if got := fmt.Sprint(list[0].Weights, int(site.billing)); got != c.want {
			t.Errorf("%s, %s: %s, want %s", c.flags, c.selects, got, c.want)
		}
	}
}

// A running job's billing is Slurm's word; memory is asked for where a limit on billing
// depends on it.
func TestBillingThatAJobHas(t *testing.T) {
	v, j := reader{record: make([]string, jobFieldCount)}, slurm.Job{Nodes: []string{"gpu1"}}
	v.record[fTresAlloc] = "cpu=2,mem=2000M,node=1,billing=17,gres/gpu=2"
	if v.size(&j); v.err != nil || j.Billing != 17 || j.GPUs != 2 {
		t.Errorf("%+v, %v", j, v.err)
	}
	for _, c := range []struct {
		of, limited string
		want        bool
	}{{"mem", "billing", true}, {"mem", "cpu", false}, {"cpu", "billing", false}} {
		l := slurm.Limits{Partitions: []slurm.Partition{{Weights: []slurm.Weight{{Of: c.of, N: 1}}}}, QOS: []slurm.QOS{{User: amountsOf(c.limited, 5)}}}
		if got := limitsMemory(&l); got != c.want {
			t.Errorf("a weight on %s and a limit on %s: memory is asked for: %t", c.of, c.limited, got)
		}
	}
}
