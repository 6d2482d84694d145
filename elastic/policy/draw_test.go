package policy_test

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"pgregory.net/rapid"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/learn/speed"
	"github.com/sluice-hpc/sluice/nodes"
)

// snapshots draws clusters in any state that sluice can find or produce. Jobs that accept only
// some nodes have virtual partitions there, such as gpu@a.
func snapshots(t *rapid.T) elastic.Snapshot {
	return drawSnapshot(t, []string{"gpu", "gpu", "fast", "gpu,fast", "gpu@a", "gpu@a,gpu@b", "gpu@"}, 2)
}

// twoTypes draws clusters with one or two GPU types per node, and jobs that name a type.
func twoTypes(t *rapid.T) elastic.Snapshot {
	return drawSnapshot(t, []string{"gpu", red, red, "gpu@blue"}, 2)
}

// red is a partition for jobs and demands of one type.
const red = "gpu@red"

// plain draws clusters with one partition, in which only sluice's jobs wait.
func plain(t *rapid.T) elastic.Snapshot { return drawSnapshot(t, []string{"gpu"}, 0) }

func drawSnapshot(t *rapid.T, partitions []string, demands int) elastic.Snapshot {
	s := elastic.Snapshot{Now: now, Limits: elastic.Limits{
		Cooldown:  time.Duration(rapid.SampledFrom([]int{0, 60}).Draw(t, "cooldown")) * time.Second,
		Payback:   rapid.SampledFrom([]float64{0, 1, 3}).Draw(t, "payback"),
		DeafAfter: rapid.IntRange(0, 3).Draw(t, "deaf after"),
	}}
	for i := range rapid.IntRange(1, 6).Draw(t, "nodes") {
		n := nodes.Node{Name: fmt.Sprintf("n%d", i+1), GPUs: rapid.SampledFrom([]int{2, 4, 4, 8}).Draw(t, "gpus"), Usable: true}
		n.Partitions = []string{"gpu"}
		if len(partitions) > 1 {
			n.Partitions = rapid.SampledFrom([][]string{{"gpu"}, {"gpu"}, {"gpu", "fast"}, {"fast"}, {"gpu", "gpu@a"}, {"gpu", "gpu@b"}, {"gpu", "gpu@a", "gpu@b"}}).Draw(t, "partitions")
		}
		if slices.Contains(partitions, red) {
			drawTypes(t, &n)
		}
		if rapid.IntRange(0, 3).Draw(t, "foreign") == 0 {
			n.Used = rapid.IntRange(0, n.GPUs).Draw(t, "used")
			attribute(&n, n.Used)
		}
		s.Nodes = append(s.Nodes, n)
	}
	if len(partitions) > 1 {
		partitions = append(drawEdges(t, &s), partitions...)
	}
	for i := range rapid.IntRange(0, 8).Draw(t, "jobs") {
		j := drawJob(t, i+1, partitions)
		if rapid.Bool().Draw(t, "runs") {
			run(t, &s, &j)
		}
		s.Jobs = append(s.Jobs, j)
	}
	for i := range s.Nodes { // drained after jobs were put there
		s.Nodes[i].Usable = rapid.IntRange(0, 7).Draw(t, "usable") > 0
	}
	for i := range rapid.IntRange(0, demands).Draw(t, "demands") {
		s.Demands = append(s.Demands, elastic.Demand{
			ID: elastic.JobID(900 + i), Partition: rapid.SampledFrom([]string{"gpu", "fast", "lab", "gpu@a"}).Draw(t, "partition"),
			Nodes: rapid.IntRange(1, 2).Draw(t, "nodes"), GPUs: rapid.IntRange(1, 8).Draw(t, "gpus"),
		})
		if d := &s.Demands[i]; slices.Contains(partitions, red) && rapid.Bool().Draw(t, "of a type") {
			d.Partition, d.Type = red, "red"
		}
	}
	return s
}

// drawTypes may give the node GPUs of one type, or of two.
func drawTypes(t *rapid.T, n *nodes.Node) {
	switch rapid.IntRange(0, 7).Draw(t, "types") {
	case 0, 1:
		red := rapid.IntRange(1, n.GPUs-1).Draw(t, "red ones")
		n.Type, n.Types = "blue+red", []nodes.OfType{{Type: "blue", GPUs: n.GPUs - red}, {Type: "red", GPUs: red}}
		n.Partitions = append(slices.Clone(n.Partitions), "gpu@red", "gpu@blue")
	case 2:
		n.Type, n.Partitions = "red", append(slices.Clone(n.Partitions), "gpu@red")
	}
}

// attribute assigns types to allocated GPUs for which no type was requested.
func attribute(n *nodes.Node, gpus int) {
	n.Types = slices.Clone(n.Types)
	for i := range n.Types {
		of := &n.Types[i]
		some := min(gpus, of.GPUs-of.Used)
		of.Used, gpus = of.Used+some, gpus-some
	}
}

// drawEdges makes some nodes an edge pool, and returns the partitions of jobs that may use it;
// none without such a pool.
func drawEdges(t *rapid.T, s *elastic.Snapshot) []string {
	if rapid.IntRange(0, 2).Draw(t, "edges") > 0 {
		return nil
	}
	s.Edges = map[string]bool{}
	var own []string
	for i := range s.Nodes {
		n := &s.Nodes[i]
		if rapid.IntRange(0, 2).Draw(t, "edge") > 0 {
			continue
		}
		name := "lab@" + n.Name
		if n.Partitions = []string{"lab", name}; rapid.IntRange(0, 5).Draw(t, "both") == 0 {
			n.Partitions = append(n.Partitions, "gpu")
		}
		own, s.Edges[name] = append(own, name), true
		n.Type = rapid.SampledFrom([]string{"", "t4"}).Draw(t, "type")
	}
	if len(own) == 0 {
		return nil
	}
	lab := strings.Join(own, ",")
	return []string{lab, "gpu," + lab, "gpu," + lab}
}

func drawJob(t *rapid.T, id int, partitions []string) elastic.Job {
	spec := elastic.Spec{Min: rapid.SampledFrom([]int{1, 1, 1, 2, 3}).Draw(t, "min"), AllowUneven: rapid.IntRange(0, 3).Draw(t, "uneven") == 0}
	switch rapid.IntRange(0, 3).Draw(t, "sizes") {
	case 0:
		spec.Step = rapid.IntRange(1, 3).Draw(t, "step")
	case 1:
		for n := spec.Min; n <= 16; n *= 2 {
			spec.Sizes = append(spec.Sizes, n)
		}
	}
	if rapid.Bool().Draw(t, "bounded") {
		spec.Max = spec.Min + rapid.IntRange(0, 8).Draw(t, "max")
	}
	if rapid.IntRange(0, 3).Draw(t, "total") > 0 {
		spec.Total = rapid.Float64Range(1, 1000).Draw(t, "units")
		if rapid.IntRange(0, 2).Draw(t, "due") == 0 {
			spec.Deadline = now.Add(time.Duration(rapid.IntRange(-100, 50_000).Draw(t, "deadline")) * time.Second)
			spec.Soft = rapid.Bool().Draw(t, "soft")
		}
	}
	partition := rapid.SampledFrom(partitions).Draw(t, "partition")
	if kind := nodes.ParsePartition(partition).Part; kind == "red" || kind == "blue" {
		spec.Types = []string{kind}
	}
	j := elastic.Job{
		ID: elastic.JobID(id), Partition: partition, Spec: spec,
		Phase: elastic.Waiting, Speaks: rapid.IntRange(0, 4).Draw(t, "speaks") > 0, Deaf: rapid.SampledFrom([]int{0, 0, 0, 1, 3}).Draw(t, "deaf"),
		Done:  rapid.Float64Range(0, 500).Draw(t, "done"),
		Price: elastic.Price{Start: time.Duration(rapid.SampledFrom([]int{0, 10, 100}).Draw(t, "price")) * time.Second},
	}
	j.Unusable = rapid.SampledFrom([]int{0, 0, 0, 1, 2}).Draw(t, "unusable")
	j.Promised = !spec.Deadline.IsZero() && rapid.Bool().Draw(t, "promised")
	j.Directive.Hold = rapid.IntRange(0, 9).Draw(t, "held") == 0
	if rapid.IntRange(0, 5).Draw(t, "pinned") == 0 {
		j.Directive.Pin = rapid.IntRange(1, 8).Draw(t, "pin")
	}
	var samples []speed.Sample
	one := rapid.Float64Range(0.1, 100).Draw(t, "one")
	for _, g := range []int{1, 2, 4, 8} {
		if rapid.Bool().Draw(t, "measured") {
			samples = append(samples, speed.Sample{Shape: speed.Shape{GPUs: g, Nodes: 1}, Units: 1, At: now, Seconds: one * rapid.Float64Range(1/float64(g), 1.2).Draw(t, "relative"),
				Kind: rapid.SampledFrom([]string{"", "", "t4"}).Draw(t, "kind")})
		}
	}
	j.Curve = speed.Fit(samples, now)
	return j
}

// run places the job where it fits at some accepted size, in some phase.
func run(t *rapid.T, s *elastic.Snapshot, j *elastic.Job) {
	sizes := j.Spec.Options(16)
	if len(sizes) == 0 {
		return
	}
	place := placed(*s, *j, sizes[rapid.IntRange(0, len(sizes)-1).Draw(t, "size")])
	if place == nil {
		return
	}
	j.Phase, j.Place = elastic.Running, place
	if rapid.IntRange(0, 3).Draw(t, "fresh") == 0 {
		j.Moved = now.Add(-30 * time.Second)
	}
	switch rapid.IntRange(0, 9).Draw(t, "phase") {
	case 0:
		j.Phase = rapid.SampledFrom([]elastic.Phase{elastic.Suspended, elastic.Completing}).Draw(t, "other phase")
	case 1:
		j.UserHold = true
	case 2:
		hold(s, *j, place)
		if target := placed(*s, *j, sizes[rapid.IntRange(0, len(sizes)-1).Draw(t, "target")]); target != nil {
			s.Intents = append(s.Intents, elastic.Intent{Job: j.ID, Kind: elastic.Resize, From: place, Target: target})
			// Both are kept apart so that the drawn state is reachable.
			s.Nodes = nodes.Without(s.Nodes, j.Load(place))
			hold(s, *j, target)
			j.Place = target
		}
		return
	}
	hold(s, *j, place)
}

// hold sets the job's place, as Slurm then shows it.
func hold(s *elastic.Snapshot, j elastic.Job, place nodes.Placement) {
	s.Nodes = nodes.With(s.Nodes, j.Load(place))
	for i := 0; i < len(s.Nodes) && j.Spec.Type() == ""; i++ {
		attribute(&s.Nodes[i], place.On(s.Nodes[i].Name))
	}
}

func placed(s elastic.Snapshot, j elastic.Job, n int) nodes.Placement {
	r := j.Request(elastic.Limits{})
	r.GPUs = n
	return nodes.Place(s.Nodes, []nodes.Request{r})[0].Placement
}

// equal draws plain clusters of equal nodes and jobs that accept every size from 1 GPU on, in
// any split.
func equal(t *rapid.T) elastic.Snapshot {
	s := plain(t)
	for i := range s.Nodes {
		s.Nodes[i].GPUs, s.Nodes[i].Usable = 8, true
	}
	for i := range s.Jobs {
		j := &s.Jobs[i]
		j.Spec.Min, j.Spec.Max, j.Spec.Step, j.Spec.Sizes, j.Spec.AllowUneven = 1, 0, 0, nil, true
		j.Directive.Pin = 0
	}
	return s
}

// dump prints a snapshot for a failure message.
func dump(s elastic.Snapshot) string {
	var b strings.Builder
	for _, n := range s.Nodes {
		fmt.Fprintf(&b, "node %s %v gpus=%d used=%d types=%s %v usable=%v\n", n.Name, n.Partitions, n.GPUs, n.Used, n.Type, n.Types, n.Usable)
	}
	for _, j := range s.Jobs {
		fmt.Fprintf(&b, "job %d %s %s %v min=%d max=%d step=%d sizes=%v uneven=%v pin=%d price=%v speaks=%v deaf=%d unusable=%d\n", j.ID, j.Partition, j.Phase, j.Place, j.Spec.Min, j.Spec.Max, j.Spec.Step, j.Spec.Sizes, j.Spec.AllowUneven, j.Directive.Pin, j.Price.Total(), j.Speaks, j.Deaf, j.Unusable)
	}
	fmt.Fprintf(&b, "intents %+v demands %+v limits %+v\n", s.Intents, s.Demands, s.Limits)
	return b.String()
}
