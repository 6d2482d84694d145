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

// Slurm starts no job on nodes that its constraint rejects or that it excludes. If sluice named
// such nodes, the job would wait forever (BadConstraints). A job with a constraint, excluded nodes
// or GPU types therefore gets a virtual partition of the nodes that it accepts, such as
// "gpu@gpu[1-2]". A constraint with alternatives gives one for each alternative, since all nodes
// of a job must be in one partition and satisfy the same alternative.

// Choose restricts jobs, and the demands of ordinary jobs, to the nodes that they accept. Nodes get
// the virtual partitions in which they are. A job whose wish leaves all nodes of its partitions keeps
// its partitions, and has no reason in Kept.
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

// Unreadable returns why a job's constraint cannot be parsed; nil = it can.
func Unreadable(constraint string) reason.Reason {
	if constraint == "" {
		return nil
	}
	if _, err := slurm.ParseConstraint(constraint); err != nil {
		return reason.BadConstraint{Error: err.Error()}
	}
	return nil
}

// chooseOrdinary restricts the demands of ordinary jobs. Otherwise GPUs that an ordinary job cannot
// use would be kept for it (decision 8). A constraint that cannot be parsed restricts nothing: too
// much is kept rather than too little.
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

// wish is what a job requires of its nodes. It is comparable and a key of the chooser's cache; the
// zero value accepts every node.
type wish struct {
	constraint string
	excluded   string // nodes, separated by commas
	types      string // types of GPU, separated by commas
}

func (w wish) none() bool { return w == wish{} }

// wishOf returns a job's wish without types. Nodes that a job excludes come from the list of jobs,
// or, if it shows none, from the site's limits.
func (s Site) wishOf(sj *slurm.Job) wish {
	excluded := sj.ExcNodes
	if len(excluded) == 0 {
		excluded = s.Excluded[sj.ID]
	}
	return wish{constraint: sj.Constraint, excluded: strings.Join(excluded, ",")}
}

// choice is the result of applying a wish to partitions.
type choice struct {
	partitions string
	why        reason.Reason // nil = all nodes are accepted
	bad        error         // the constraint cannot be parsed; no node is accepted
}

// chooser makes the virtual partitions of a snapshot, each once for all jobs with the same wish. It
// changes the nodes of s, and is made anew for each stage.
type chooser struct {
	s         *elastic.Snapshot
	inventory []slurm.Node
	nodes     map[string]*slurm.Node // inventory by name; nil = not built yet
	made      map[[2]string]choice
}

func newChooser(s *elastic.Snapshot, inventory []slurm.Node) *chooser {
	return &chooser{s: s, inventory: inventory}
}

// look returns the nodes by name. The index is built at the first call.
func (c *chooser) look() map[string]*slurm.Node {
	if c.nodes == nil {
		c.nodes = make(map[string]*slurm.Node, len(c.inventory))
		for i := range c.inventory {
			c.nodes[c.inventory[i].Name] = &c.inventory[i]
		}
	}
	return c.nodes
}

// features returns a node's features.
func (c *chooser) features(name string) []string {
	if n := c.look()[name]; n != nil {
		return n.Features
	}
	return nil
}

// chosen returns what a wish leaves of a list of partitions, made at most once for the same pair.
// Sluice's and ordinary jobs share the results.
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

// make makes virtual partitions of the nodes that a wish accepts. A partition whose nodes are all
// accepted is kept. If no node is accepted the result is a virtual partition without nodes.
//
// For example, nodes a1 and a2 have feature x, b1 has y, and all are in gpu:
//
//	constraint   partitions
//	x            gpu@a[1-2]
//	x|y          gpu@a[1-2],gpu@b1, so that no run mixes them
//	z            gpu@, which has no node: no node has z
//	x|y|z        as x|y
//
// The order is that of the alternatives, then of the partitions. The cost is O(alternatives x
// partitions x nodes).
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
		got.partitions = cmp.Or(got.partitions, nodes.PartOf(first, "").String()) // the partition without nodes
		got.why = w.leaves(slices.Compact(open), c.passedOver(w), err)
	}
	return got
}

// narrow returns a partition of the nodes of p that are accepted, and their names. If all nodes are
// accepted, or none, it returns p itself; the caller leaves out a partition for which in is empty.
// Equal sets of nodes get equal names, so that jobs with different wishes may share a partition.
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
	// Commas separate partitions, so a name must not contain one.
	partition = nodes.PartOf(p, strings.ReplaceAll(slurm.Compress(in), ",", "+")).String()
	for _, i := range at {
		if n := &c.s.Nodes[i]; !n.In(partition) {
			n.Partitions = append(slices.Clone(n.Partitions), partition)
		}
	}
	return partition, in
}

// alternatives returns the sets of acceptable nodes, as predicates: all nodes of a job must be in
// one set. It returns none if the constraint cannot be parsed. A predicate takes the name and the
// features of a node. Excluded nodes are in no set.
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

// typed splits each set by the type of GPU, if types are requested: a run uses one type. A type is
// written to Slurm only if exactly one is requested (see elastic.Spec.Type). With several requested
// types, nodes with several types are excluded: there Slurm could allocate the wrong one.
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

// passedOver returns the nodes that typed excludes because they have several types of GPU, for the
// reason shown to users.
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

// leaves returns the reason shown to users: which nodes a wish leaves.
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
