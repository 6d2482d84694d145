package engine

import (
	"github.com/sluice-hpc/sluice/elastic"
)

// caps turns the site's limits into what decisions know: each limit with the jobs of
// sluice it concerns and what ordinary jobs of the same group have of it. Where no
// limit could be read yet, jobs keep what they have and start on their minimum, which
// their users were allowed.
func (e *Engine) caps(v view, s *elastic.Snapshot) []elastic.Cap {
	if e.cfg.Limiter == nil {
		return nil
	}
	if !e.limits.known {
		return unread(s.Jobs, nil)
	}
	b := newCapBook(e.limits.Limits)
	for _, sj := range v.jobs {
		if js := e.byID[elastic.JobID(sj.ID)]; js != nil && js.seen && !js.disown && js.rec.Ended.IsZero() {
			b.concern(sj)
		}
	}
	for _, sj := range v.jobs {
		if onNodes(sj) && !sj.Completing {
			b.count(sj)
		}
	}
	return append(b.list(), unread(s.Jobs, b.unknown)...)
}

// unread caps the jobs named, nil being all, at what they have, or their minimum.
func unread(jobs []elastic.Job, named map[elastic.JobID]bool) []elastic.Cap {
	var out []elastic.Cap
	for _, j := range jobs {
		if named != nil && !named[j.ID] {
			continue
		}
		out = append(out, elastic.Cap{
			Name: "what it has, until the site's limits can be read", Of: elastic.GPUs, Each: true,
			Most: max(j.Spec.Min, j.GPUs()), Jobs: map[elastic.JobID]bool{j.ID: true},
		})
	}
	return out
}

// spread tells each job on how many nodes it may be, so that places are looked for on
// no more.
func spread(s *elastic.Snapshot) {
	for i := range s.Jobs {
		j := &s.Jobs[i]
		for k := range s.Caps {
			c := &s.Caps[k]
			if c.Of == elastic.Nodes && c.Each && c.Most > 0 && c.Jobs[j.ID] && (j.MaxNodes == 0 || c.Most < j.MaxNodes) {
				j.MaxNodes = c.Most
			}
		}
	}
}
