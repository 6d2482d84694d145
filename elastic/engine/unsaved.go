package engine

import (
	"cmp"
	"slices"

	"github.com/sluice-hpc/sluice/elastic/learn/speed"
)

// unsavedSeries are the new speeds of one model, or of a job without one: one transaction.
type unsavedSeries struct {
	key  string
	from []*[]speed.Sample
	jobs []*jobState
}

// samples are the speeds, job by job.
func (u *unsavedSeries) samples() (out []speed.Sample) {
	for _, of := range u.from {
		out = append(out, *of...)
	}
	return out
}

// unsavedSpeeds are the speeds that the store does not have: of every user those that have waited
// for longest.
func (st *State) unsavedSpeeds() []*unsavedSeries {
	st.stores++
	all := slices.DeleteFunc(slices.Clone(st.ordered()), func(js *jobState) bool { return len(js.learnt.fresh)+len(js.learnt.paces) == 0 })
	slices.SortStableFunc(all, func(a, b *jobState) int { return cmp.Compare(a.learnt.stored, b.learnt.stored) })
	var out []*unsavedSeries
	at, keys := map[string]*unsavedSeries{}, map[uint32]int{}
	add := func(js *jobState, key string, of *[]speed.Sample) {
		if len(*of) == 0 {
			return
		}
		s := at[key]
		if s == nil {
			if keys[js.rec.UID] >= keysPerUser {
				*of = slices.Clone((*of)[max(0, len(*of)-unstoredMost):])
				return
			}
			keys[js.rec.UID]++
			s = &unsavedSeries{key: key}
			at[key], out = s, append(out, s)
		}
		s.from, s.jobs = append(s.from, of), append(s.jobs, js)
	}
	for _, js := range all {
		add(js, st.modelOf(js.rec), &js.learnt.fresh)
		add(js, st.paceOf(js.rec), &js.learnt.paces)
	}
	return out
}

// savedSpeeds notes that the store has them.
func (st *State) savedSpeeds(u *unsavedSeries) {
	for i, of := range u.from {
		*of, u.jobs[i].learnt.stored = nil, st.stores
	}
}
