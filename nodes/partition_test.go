package nodes

import "testing"

func TestPartitions(t *testing.T) {
	for name, want := range map[string]Partition{
		"gpu":          {"gpu", "", false},
		"gpu@":         {"gpu", "", true},
		"lab@l1":       {"lab", "l1", true},
		"lab@-maint@2": {"lab", "-maint@2", true},
	} {
		p := ParsePartition(name)
		if p != want || p.String() != name || p.Virtual() != want.virtual {
			t.Errorf("%s: %+v, written %s", name, p, p)
		}
		if again := ParsePartition(PartOf(name, "n1").String()); again != PartOf(name, "n1") || again.Slurm != p.Slurm || !again.Virtual() {
			t.Errorf("n1 of %s: %+v", name, again)
		}
	}
	if got := PartOf("lab@-maint", "l2").String(); got != "lab@-maint@l2" {
		t.Errorf("a part of a part is %s", got)
	}
}
