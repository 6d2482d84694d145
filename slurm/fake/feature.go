package fake

import (
	"slices"
	"strings"

	"github.com/sluice-hpc/sluice/slurm"
)

// SetFeatures sets a node's active features from now on. Running jobs go on.
func (f *Fake) SetFeatures(name string, features ...string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if n := f.node(name); n != nil {
		n.Features = slices.Clone(features)
		f.logf("node %s has features %s", name, strings.Join(features, ","))
		f.schedule()
	}
}

// featured refuses a constraint that cannot be read, or that names a feature no node has.
func (f *Fake) featured(j *job) *failure {
	if j.want.constraint == "" {
		return nil
	}
	known := strings.FieldsFunc(j.want.constraint, func(r rune) bool { return strings.ContainsRune("&|,()[]", r) })
	for _, feature := range known {
		if !slices.ContainsFunc(f.nodes, func(n *node) bool { return slices.Contains(n.Features, feature) }) {
			return fail(slurm.ErrRefused, "Batch job submission failed: Invalid feature specification")
		}
	}
	if _, err := slurm.ParseConstraint(j.want.constraint); err != nil {
		return fail(slurm.ErrRefused, "Batch job submission failed: Invalid feature specification")
	}
	return nil
}

// accepted returns, for each alternative of a request's constraint, the nodes it accepts,
// and the nodes that any alternative accepts: for nodes that are named for the job Slurm
// does not require a single alternative.
func (w want) accepted() (each []func(*node) bool, some func(*node) bool) {
	c, err := slurm.ParseConstraint(w.constraint)
	if w.constraint == "" || err != nil {
		all := func(*node) bool { return true }
		return []func(*node) bool{all}, all
	}
	for i := range c.Alternatives() {
		each = append(each, func(n *node) bool { return c.Accepts(i, n.Features) })
	}
	return each, func(n *node) bool {
		return slices.ContainsFunc(each, func(accepts func(*node) bool) bool { return accepts(n) })
	}
}
