package eligible

import (
	"cmp"
	"slices"
	"strings"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/reason"
	"github.com/sluice-hpc/sluice/nodes"
	"github.com/sluice-hpc/sluice/slurm"
)

// Slurm starts no job on nodes that its constraint does not accept, or that it excludes;
// where they are named for it all the same, it waits for good (BadConstraints). So a job
// that chooses is told a partition of its own, as reserve does: the nodes that it
// accepts, as "gpu@gpu[1-2]". One with alternatives in its constraint is told one for
// each, for all nodes of a job are of one partition, and of one alternative.

// Choose gives jobs that choose among their partitions' nodes those that they accept, and
// has ordinary jobs wait for such alone.
func (l *Look) Choose(s *elastic.Snapshot) {
	c := newChooser(s, l.Nodes)
	for i := range s.Jobs {
		j := &s.Jobs[i]
		own, known := l.Own[j.ID]
		if !known {
			continue
		}
		w := l.Site.wishOf(own.Slurm)
		if w.types = strings.Join(own.Types, ","); !w.none() {
			got := c.chosen(w, j.Partition)
			j.Partition, j.Kept = got.partitions, got.why
		}
	}
	l.chooseOrdinary(s, c)
}

// Unreadable is why a job's constraint cannot be read, for its user; nil = it can.
func Unreadable(constraint string) reason.Reason {
	if constraint == "" {
		return nil
	}
	if _, err := slurm.ParseConstraint(constraint); err != nil {
		return reason.BadConstraint{Error: err.Error()}
	}
	return nil
}

// chooseOrdinary does so for what ordinary jobs wait for.
func (l *Look) chooseOrdinary(s *elastic.Snapshot, c *chooser) {
	ordinary := map[elastic.JobID]wish{}
	for i := range l.Jobs {
		sj := &l.Jobs[i]
		w := l.Site.wishOf(sj)
		if w.types = sj.GPUType; !w.none() && sj.State == slurm.Pending {
			ordinary[elastic.JobID(sj.ID)] = w
		}
	}
	for i := range s.Demands {
		d := &s.Demands[i]
		if w, ok := ordinary[d.ID]; ok {
			if got := c.chosen(w, d.Partition); got.bad == nil {
				d.Partition = got.partitions
			}
		}
	}
}

// wish is what a job asks of its nodes.
type wish struct {
	constraint string
	excluded   string // the nodes, with commas
	types      string // of GPU, with commas
}

func (w wish) none() bool { return w == wish{} }

func (s Site) wishOf(sj *slurm.Job) wish {
	excluded := sj.ExcNodes
	if len(excluded) == 0 {
		excluded = s.Excluded[sj.ID]
	}
	return wish{constraint: sj.Constraint, excluded: strings.Join(excluded, ",")}
}

// choice is what a wish leaves of partitions.
type choice struct {
	partitions string
	why        reason.Reason // nil = it leaves all of them
	bad        error         // the constraint cannot be read: no node is known to be accepted
}

// chooser makes the partitions of a snapshot, each once however many jobs wish for it.
type chooser struct {
	s         *elastic.Snapshot
	inventory []slurm.Node
	nodes     map[string]*slurm.Node // nil until somebody wishes
	made      map[[2]string]choice
}

func newChooser(s *elastic.Snapshot, inventory []slurm.Node) *chooser {
	return &chooser{s: s, inventory: inventory}
}

// look sorts the nodes by name, when that is first asked for.
func (c *chooser) look() map[string]*slurm.Node {
	if c.nodes == nil {
		c.nodes = make(map[string]*slurm.Node, len(c.inventory))
		for i := range c.inventory {
			c.nodes[c.inventory[i].Name] = &c.inventory[i]
		}
	}
	return c.nodes
}

// features are those of a node.
func (c *chooser) features(name string) []string {
	if n := c.look()[name]; n != nil {
		return n.Features
	}
	return nil
}

func (c *chooser) chosen(w wish, partitions string) choice {
	key := [2]string{w.constraint + "\n" + w.excluded + "\n" + w.types, partitions}
	got, known := c.made[key]
	if !known {
		if c.made == nil {
			c.made = map[[2]string]choice{}
		}
		got = c.make(w, partitions)
		c.made[key] = got
	}
	return got
}

// make makes the partitions of the nodes that a wish accepts. Where nobody is left out of
// one it stays as it is; where none is left in any there is one without nodes.
func (c *chooser) make(w wish, partitions string) choice {
	alternatives, err := w.alternatives()
	alternatives = w.typed(alternatives, c.look())
	var names, open []string
	for _, accepts := range alternatives {
		for _, p := range strings.Split(partitions, ",") {
			name, in := c.narrow(p, accepts)
			if len(in) > 0 && !slices.Contains(names, name) {
				names, open = append(names, name), append(open, in...)
			}
		}
	}
	slices.Sort(open)
	got := choice{partitions: strings.Join(names, ","), bad: err}
	if got.partitions != partitions {
		first, _, _ := strings.Cut(partitions, ",")
		got.partitions = cmp.Or(got.partitions, nodes.PartOf(first, "").String()) // no node is in it
		got.why = w.leaves(slices.Compact(open), c.passedOver(w), err)
	}
	return got
}

// narrow returns the partition of those nodes of p that are accepted, and their names.
func (c *chooser) narrow(p string, accepts func(name string, features []string) bool) (partition string, in []string) {
	all := 0
	var at []int
	for i, n := range c.s.Nodes {
		if !n.In(p) {
			continue
		}
		if all++; accepts(n.Name, c.features(n.Name)) {
			at, in = append(at, i), append(in, n.Name)
		}
	}
	if len(in) == all || len(in) == 0 {
		return p, in
	}
	// A comma would end the name of a partition.
	partition = nodes.PartOf(p, strings.ReplaceAll(slurm.Compress(in), ",", "+")).String()
	for _, i := range at {
		if n := &c.s.Nodes[i]; !n.In(partition) {
			n.Partitions = append(slices.Clone(n.Partitions), partition)
		}
	}
	return partition, in
}

// alternatives are the sets of nodes in one of which all the job's nodes have to be; none
// when the constraint cannot be read.
func (w wish) alternatives() (sets []func(string, []string) bool, err error) {
	excluded := map[string]bool{}
	for _, n := range strings.Split(w.excluded, ",") {
		excluded[n] = true
	}
	if w.constraint == "" {
		return append(sets, func(name string, _ []string) bool { return !excluded[name] }), nil
	}
	c, err := slurm.ParseConstraint(w.constraint)
	if err != nil {
		return nil, err
	}
	for i := range c.Alternatives() {
		sets = append(sets, func(name string, features []string) bool { return !excluded[name] && c.Accepts(i, features) })
	}
	return sets, nil
}

// typed parts each set of nodes by the type of their GPUs, where types are wished for: a
// run has GPUs of one. Slurm is told a type only where there is one to choose from (see
// elastic.Spec.Type): of a node with several it would give any to others.
func (w wish) typed(sets []func(string, []string) bool, all map[string]*slurm.Node) []func(string, []string) bool {
	if w.types == "" {
		return sets
	}
	told := !strings.Contains(w.types, ",")
	var out []func(string, []string) bool
	for _, accepts := range sets {
		for _, kind := range strings.Split(w.types, ",") {
			out = append(out, func(name string, features []string) bool {
				n := all[name]
				return n != nil && n.Has(kind) > 0 && (told || len(n.Types) == 0) && accepts(name, features)
			})
		}
	}
	return out
}

// passedOver says for people which nodes have the types wished for beside others, and are
// not used for them.
func (c *chooser) passedOver(w wish) string {
	kinds := strings.Split(w.types, ",")
	var names []string
	for name, n := range c.look() {
		if len(kinds) > 1 && len(n.Types) > 0 && slices.ContainsFunc(kinds, func(kind string) bool { return n.Has(kind) > 0 }) {
			names = append(names, name)
		}
	}
	if names == nil {
		return ""
	}
	slices.Sort(names)
	return slurm.Compress(names)
}

// leaves says for people which nodes a wish leaves.
func (w wish) leaves(open []string, mixed string, err error) reason.Reason {
	if err != nil {
		return reason.BadConstraint{Error: err.Error()}
	}
	why := reason.Wish{Constraint: w.constraint, Open: slurm.Compress(open), Mixed: mixed}
	if w.types != "" {
		why.Types = strings.Split(w.types, ",")
	}
	if w.excluded != "" {
		why.Excluded = slurm.Compress(strings.Split(w.excluded, ","))
	}
	return why
}
