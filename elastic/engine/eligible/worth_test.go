package eligible

import (
	"math"
	"testing"

	"pgregory.net/rapid"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/share"
	"github.com/sluice-hpc/sluice/elastic/share/claim"
	"github.com/sluice-hpc/sluice/nodes"
	"github.com/sluice-hpc/sluice/slurm"
)

// TestWorth: a GPU counts by the partition's TRESBillingWeights, as Slurm bills it.
func TestWorth(t *testing.T) {
	cpus := slurm.Weight{Of: slurm.OfCPUs, N: 5}
	any, a100, t4 := slurm.Weight{Of: "gres/gpu", N: 2}, slurm.Weight{Of: "gres/gpu:a100", N: 3}, slurm.Weight{Of: "gres/gpu:t4", N: 0}
	for name, c := range map[string]struct {
		weights []slurm.Weight
		kind    string
		by      slurm.BillingRule
		want    float64
	}{
		"no weights":               {nil, "a100", slurm.BillSum, 1},
		"none of GPUs":             {[]slurm.Weight{cpus}, "a100", slurm.BillSum, 1},
		"of any GPU":               {[]slurm.Weight{cpus, any}, "a100", slurm.BillSum, 2},
		"of any GPU, no type":      {[]slurm.Weight{cpus, any, a100}, "", slurm.BillSum, 2},
		"of its type":              {[]slurm.Weight{a100, t4}, "a100", slurm.BillSum, 3},
		"of its type, upper case":  {[]slurm.Weight{a100, t4}, "A100", slurm.BillSum, 3},
		"both":                     {[]slurm.Weight{any, a100}, "a100", slurm.BillSum, 5},
		"both, MAX_TRES":           {[]slurm.Weight{any, a100}, "a100", slurm.BillLargest, 3},
		"both, MAX_TRES_GRES":      {[]slurm.Weight{any, a100}, "a100", slurm.BillLargestAndGRES, 5},
		"of another type":          {[]slurm.Weight{a100}, "h100", slurm.BillSum, 1},
		"free of charge":           {[]slurm.Weight{t4}, "t4", slurm.BillSum, 0},
		"of all types but this":    {[]slurm.Weight{any, t4}, "t4", slurm.BillSum, 2},
		"too much for any sum":     {[]slurm.Weight{{Of: "gres/gpu", N: 1e308}, {Of: "gres/gpu:a100", N: 1e308}}, "a100", slurm.BillSum, mostWorth},
		"too little for a divisor": {[]slurm.Weight{{Of: "gres/gpu", N: 1e-308}}, "", slurm.BillSum, 0},
	} {
		if got := Worth(slurm.Partition{Weights: c.weights}, c.kind, c.by); got != c.want {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}

// TestWeigh: what users have counts by the worth of their GPUs where they run, or are bound to run, and
// all together have as many GPUs as before.
func TestWeigh(t *testing.T) {
	weights := func(list ...slurm.Weight) []slurm.Weight { return list }
	gpu := func(n float64) slurm.Weight { return slurm.Weight{Of: "gres/gpu", N: n} }
	of := func(kind string, n float64) slurm.Weight { return slurm.Weight{Of: "gres/gpu:" + kind, N: n} }
	for name, c := range map[string]struct {
		fast, slow []slurm.Weight // of the partitions; the nodes of fast have a100, those of slow t4
		moves      bool           // ann's job is bound for a node of slow
		want       [3]float64     // what ann has of 4 a100, bob of 2 t4, and eve of nothing
	}{
		"no weights":           {nil, nil, false, [3]float64{4, 2, 0}},
		"weights of CPUs only": {weights(slurm.Weight{Of: "cpu", N: 9}), nil, false, [3]float64{4, 2, 0}},
		"all alike":            {weights(gpu(7)), weights(gpu(7)), false, [3]float64{4, 2, 0}},
		"by partition":         {weights(gpu(4)), weights(gpu(1)), false, [3]float64{16. / 3, 2. / 3, 0}},
		"by type":              {weights(of("a100", 4)), weights(of("t4", 1)), false, [3]float64{16. / 3, 2. / 3, 0}},
		"one has none":         {weights(gpu(4)), nil, false, [3]float64{16. / 3, 2. / 3, 0}},
		"free of charge":       {weights(gpu(1)), weights(gpu(0)), false, [3]float64{6, 0, 0}},
		"all free of charge":   {weights(gpu(0)), weights(gpu(0)), false, [3]float64{4, 2, 0}},
		"on its way":           {weights(gpu(4)), weights(gpu(1)), true, [3]float64{4, 2, 0}},
		"endless":              {weights(gpu(1e308), of("a100", 1e308)), weights(gpu(1e308)), false, [3]float64{4, 2, 0}},
	} {
		site := Read(slurm.Limits{Partitions: []slurm.Partition{{Name: "fast", Weights: c.fast}, {Name: "slow", Weights: c.slow}}}, nil)
		s := elastic.Snapshot{
			Nodes: []nodes.Node{{Name: "f1", Type: "a100", GPUs: 4, Partitions: []string{"fast"}}, {Name: "s1", Type: "t4", GPUs: 8, Partitions: []string{"slow"}}},
			Jobs: []elastic.Job{
				{ID: 1, Partition: "slow,fast", Place: nodes.Placement{{Node: "f1", GPUs: 4}}},
				{ID: 2, Partition: "slow", Place: nodes.Placement{{Node: "s1", GPUs: 2}}},
				{ID: 3, Partition: "fast"},
			},
		}
		if c.moves {
			s.Intents = []elastic.Intent{{Job: 1, Target: nodes.Placement{{Node: "s1", GPUs: 4}}}}
		}
		claims := claim.Claims{Each: []claim.Claim{
			{Want: share.Want{User: "ann", Has: 4}, Worth: 4, Jobs: []elastic.JobID{1}},
			{Want: share.Want{User: "bob", Has: 2}, Worth: 2, Jobs: []elastic.JobID{2}},
			{Want: share.Want{User: "eve"}, Jobs: []elastic.JobID{3}},
		}}
		site.weigh(&claims, &s)
		for i, want := range c.want {
			if got := claims.Each[i].Worth; math.Abs(got-want) > 1e-9 || math.IsNaN(got) {
				t.Errorf("%s: %s has %v, want %v", name, claims.Each[i].User, got, want)
			}
		}
	}
}

// TestScavengersAreNotWeighed: what scavengers have, which no books count, changes nothing of what
// others have.
func TestScavengersAreNotWeighed(t *testing.T) {
	site := Read(slurm.Limits{Partitions: []slurm.Partition{{Name: "gpu", Weights: []slurm.Weight{{Of: "gres/gpu:a100", N: 4}}}}}, nil)
	s := elastic.Snapshot{
		Nodes: []nodes.Node{{Name: "f1", Type: "a100", GPUs: 8, Partitions: []string{"gpu"}}, {Name: "s1", Type: "t4", GPUs: 8, Partitions: []string{"gpu"}}},
		Jobs: []elastic.Job{
			{ID: 1, Partition: "gpu", Place: nodes.Placement{{Node: "s1", GPUs: 3}}},
			{ID: 2, Partition: "gpu", Place: nodes.Placement{{Node: "f1", GPUs: 8}}},
		},
	}
	claims := claim.Claims{Each: []claim.Claim{{Want: share.Want{Has: 3}, Jobs: []elastic.JobID{1}}, {Want: share.Want{Has: 8}, Scavenger: true, Jobs: []elastic.JobID{2}}}}
	if site.weigh(&claims, &s); claims.Each[0].Worth != 3 {
		t.Errorf("%v, want 3", claims.Each[0].Worth)
	}
}

// TestWorthsAddUp: whatever the weights are, all users together have as many GPUs as before, and nobody
// less than none.
func TestWorthsAddUp(t *testing.T) {
	weight := rapid.SampledFrom([]float64{0, 1e-300, .25, 1, 3, 1e12, 1e308})
	rapid.Check(t, func(t *rapid.T) {
		kinds := []string{"a100", "t4", ""}
		var l slurm.Limits
		for _, name := range []string{"p", "q"} {
			p := slurm.Partition{Name: name}
			for _, of := range rapid.SliceOfDistinct(rapid.SampledFrom([]string{"gres/gpu", "gres/gpu:a100", "gres/gpu:t4", "cpu"}), rapid.ID).Draw(t, "of") {
				p.Weights = append(p.Weights, slurm.Weight{Of: of, N: weight.Draw(t, "weight")})
			}
			l.Partitions = append(l.Partitions, p)
		}
		l.Billing = slurm.BillingRule(rapid.IntRange(0, 2).Draw(t, "rule"))
		var s elastic.Snapshot
		var c claim.Claims
		all := 0
		for i, kind := range kinds {
			s.Nodes = append(s.Nodes, nodes.Node{Name: kind + "n", Type: kind, GPUs: 8, Partitions: []string{"p", "q"}})
			n := rapid.IntRange(0, 8).Draw(t, "GPUs")
			all += n
			s.Jobs = append(s.Jobs, elastic.Job{ID: elastic.JobID(i + 1), Partition: rapid.SampledFrom([]string{"p", "q", "p,q", "gone"}).Draw(t, "partition"), Place: nodes.Placement{{Node: kind + "n", GPUs: n}}})
			c.Each = append(c.Each, claim.Claim{Want: share.Want{Has: n}, Worth: float64(n), Jobs: []elastic.JobID{elastic.JobID(i + 1)}})
		}
		Read(l, nil).weigh(&c, &s)
		sum := 0.
		for _, each := range c.Each {
			if sum += each.Worth; !(each.Worth >= 0) {
				t.Fatalf("%+v", c.Each)
			}
		}
		if math.Abs(sum-float64(all)) > 1e-6 {
			t.Fatalf("%v GPUs in all, want %d", sum, all)
		}
	})
}
