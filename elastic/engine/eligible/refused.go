package eligible

import (
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/reason"
	"github.com/sluice-hpc/sluice/nodes"
	"github.com/sluice-hpc/sluice/slurm"
)

// Refused returns the known refusals with Idle set: whether enough GPUs are idle now. s MUST have the
// nodes of this look, and the job its partitions in Slurm. A refusal while GPUs are idle is retried
// sooner: no other job has to be stopped for the try (decision 31).
func Refused(known elastic.Refused, j *elastic.Job, s *elastic.Snapshot) elastic.Refused {
	known.Idle = known.Start.Times+known.Obstacle.Times > 0 && idle(s, j)
	return known
}

// refused sets each job's recent refusals, and returns the caps that follow from them. A refused job
// is capped at 0 jobs until its next try is due, and then for some time at its smallest size
// (elastic.Job.RefusedCap).
func (l *Look) refused(s *elastic.Snapshot) []elastic.Cap {
	var out []elastic.Cap
	for i := range s.Jobs {
		j := &s.Jobs[i]
		if own, known := l.Own[j.ID]; known {
			j.Refused = own.Refused
		}
		if c, ok := j.RefusedCap(s.Now); ok {
			out = append(out, c)
		}
	}
	return out
}

// idle reports whether at least the job's minimum of GPUs is idle in its partitions. A pinned size
// counts as the minimum. Free GPUs of another type than the only one that the job accepts do not
// count.
func idle(s *elastic.Snapshot, j *elastic.Job) bool {
	free := 0
	for _, n := range s.Nodes {
		if n.InAny(j.Partition) {
			free += n.FreeOf(j.Spec.Type())
		}
	}
	return free >= max(j.Spec.Min, j.Directive.Pin)
}

// shun restricts held jobs to nodes other than those on which Slurm refused to start them, if any
// such node is usable. It MUST come AFTER Choose, reserve and edges, which determine the job's
// nodes.
func (l *Look) shun(s *elastic.Snapshot) {
	c := newChooser(s, l.Nodes)
	for i := range s.Jobs {
		if j := &s.Jobs[i]; j.Phase == elastic.Waiting {
			c.shun(j)
		}
	}
}

// shun restricts one job. A partition of which no other node is usable is left out; if that leaves
// none, all stay: to try a refused node again is better than to wait for a node that may never come.
func (c *chooser) shun(j *elastic.Job) {
	shunned := map[string]bool{}
	for _, node := range j.Refused.Shuns(c.s.Now) {
		shunned[node] = true
	}
	if len(shunned) == 0 {
		return
	}
	var names []string
	for _, p := range strings.Split(j.Partition, ",") {
		if c.offers(p, shunned) {
			name, _ := c.narrow(p, func(node string, _ []string) bool { return !shunned[node] })
			names = append(names, name)
		}
	}
	if others := strings.Join(names, ","); others != "" && others != j.Partition {
		j.Partition = others
		j.Kept = reason.Join(j.Kept, reason.OthersFirst{Nodes: slurm.Compress(j.Refused.Start.Nodes)})
	}
}

// offers reports whether a node of the partition that is not shunned is usable.
func (c *chooser) offers(p string, shunned map[string]bool) bool {
	return slices.ContainsFunc(c.s.Nodes, func(n nodes.Node) bool { return n.Usable && n.In(p) && !shunned[n.Name] })
}

// Asked is what a job's user requested from Slurm, without what sluice itself writes. A change of
// it makes earlier refusals obsolete. It is comparable, and MUST stay so: Reconsider compares two
// with ==. The zero value is that of a job that was never refused.
type Asked struct {
	wish
	partition, account, qos, licenses string
	limit                             time.Duration
}

// AskedOf returns the request of a job that was submitted for those partitions. partitions are those
// of the record, because Slurm shows only one of them while the job runs.
func AskedOf(sj *slurm.Job, partitions string) Asked {
	return Asked{wish{constraint: sj.Constraint, excluded: strings.Join(sj.ExcNodes, ",")}, partitions, sj.Account, sj.QOS, sj.Licenses, sj.TimeLimit}
}

// Ground is the configuration that determines which requests Slurm accepts, independent of load. What
// changes with the load (state, use, reason) is left out: otherwise every job that starts would end
// all delays.
type Ground struct {
	nodes      []slurm.Node // as configured
	partitions []slurm.Partition
}

// GroundOf returns the nodes as configured, and the partitions. It keeps the partitions as they are:
// they MUST NOT be changed afterwards, as a Site never is.
func GroundOf(all []slurm.Node, partitions []slurm.Partition) *Ground {
	g := &Ground{partitions: partitions}
	for _, n := range all {
		g.nodes = append(g.nodes, slurm.Node{Name: n.Name, Partitions: n.Partitions, GPUs: n.GPUs, GPUType: n.GPUType, Types: configured(n.Types), CPUs: n.CPUs, MemoryMB: n.MemoryMB, Features: n.Features})
	}
	return g
}

// configured returns the types without what is in use. The argument is not changed.
func configured(types []slurm.OfType) []slurm.OfType {
	out := slices.Clone(types)
	for i := range out {
		out[i].Used = 0
	}
	return out
}

// Equal reports whether two are the same.
func (g *Ground) Equal(other *Ground) bool { return reflect.DeepEqual(g, other) }
