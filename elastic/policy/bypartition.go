package policy

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/nodes"
)

// ByPartition returns a policy that lets the policies in of decide about the jobs of their
// partitions, by partition name, and usual about all others. A job belongs to the first
// partition it names. To each policy the jobs of the others are like ordinary ones: they keep
// what they have. So partitions that share nodes should have one policy.
//
// of may be nil, and is kept: it MUST NOT be changed afterwards. If all names are the usual one's, usual
// itself is returned. The policy returned has the flags OnEvents, Rigid, Stops and Dates unset, which
// depend on the partition: callers ask Of and RigidIn.
func ByPartition(usual Policy, of map[string]Policy) Policy {
	names := []string{usual.Name}
	for _, partition := range slices.Sorted(maps.Keys(of)) {
		if of[partition].Name != usual.Name {
			names = append(names, partition+": "+of[partition].Name)
		}
	}
	if len(names) == 1 {
		return usual
	}
	b := &byPartition{usual, of}
	return Policy{Name: names[0] + " (" + strings.Join(names[1:], ", ") + ")", Doc: usual.Doc, Allocate: b.allocate, parts: b}
}

// byPartition is several policies that decide one after the other about the jobs of their own partitions.
type byPartition struct {
	usual Policy
	of    map[string]Policy
}

// allocate asks every policy about its own jobs. The site's limits are applied to all together
// (Policy.Decide).
// The ORDER of the policies changes nothing: each sees the cluster as it is, not what another gives
// away. So two policies may give the same idle GPUs of a node that both use; plan.Arrange then
// leaves one job without.
func (b byPartition) allocate(s elastic.Snapshot) elastic.Allocation {
	out := elastic.Allocation{}
	for _, p := range b.policies() {
		few := b.only(s, p)
		if len(few.Jobs) > 0 {
			maps.Copy(out, p.decide(few))
		}
	}
	return out
}

// measures is Policy.Measures, each policy asked about its own jobs.
func (b byPartition) measures(s elastic.Snapshot) bool {
	return slices.ContainsFunc(b.policies(), func(p Policy) bool { return p.Measures(b.only(s, p)) })
}

// policies lists each policy once, the usual one first.
func (b byPartition) policies() []Policy {
	out := []Policy{b.usual}
	for _, partition := range slices.Sorted(maps.Keys(b.of)) {
		p := b.of[partition]
		if !slices.ContainsFunc(out, func(q Policy) bool { return q.Name == p.Name }) {
			out = append(out, p)
		}
	}
	return out
}

// only returns the snapshot as one policy sees it. The other policies' jobs are removed, so that
// their GPUs count as those of ordinary jobs. GPUs that their open moves will take count as used
// too: the target beyond the present place, since the place itself is counted by Slurm.
func (b byPartition) only(s elastic.Snapshot, p Policy) elastic.Snapshot {
	all := s.Jobs
	s.Jobs = nil
	s.Nodes = slices.Clone(s.Nodes)
	for _, j := range all {
		if b.policyOf(j.Partition).Name == p.Name {
			s.Jobs = append(s.Jobs, j)
			continue
		}
		if in, moving := s.Intent(j.ID); moving && !in.AnyNodes {
			for i := range s.Nodes {
				n := &s.Nodes[i]
				n.Book(j.Spec.Type(), max(0, in.Target.On(n.Name)-j.Place.On(n.Name)))
			}
		}
	}
	return s
}

// policyOf returns the policy that decides about a job.
func (b byPartition) policyOf(partitions string) Policy {
	first, _, _ := strings.Cut(partitions, ",")
	if p, own := b.of[nodes.ParsePartition(first).Slurm]; own {
		return p
	}
	return b.usual
}

// InPartitions is ByPartition for policies by name; its error lists the known names.
// Partitions are named as in Slurm, without parts. The daemon calls it once, with its configuration.
func InPartitions(usual string, of map[string]string) (Policy, error) {
	p, err := ByName(usual)
	if err != nil {
		return Policy{}, err
	}
	own := map[string]Policy{}
	for partition, name := range of {
		if own[partition], err = ByName(name); err != nil {
			return Policy{}, fmt.Errorf("partition %s: %w", partition, err)
		}
	}
	return ByPartition(p, own), nil
}
