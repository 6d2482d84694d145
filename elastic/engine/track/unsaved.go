package track

import (
	"cmp"
	"slices"

	"github.com/sluice-hpc/sluice/elastic/learn/speed"
)

// unsavedSeries has the new speeds of one model, or of a job without one: one transaction.
type unsavedSeries struct {
	Key  string
	from []*[]speed.Sample
	jobs []*Job
}

// Samples returns the speeds, job by job.
func (u *unsavedSeries) Samples() (out []speed.Sample) {
	for _, of := range u.from {
		out = append(out, *of...)
	}
	return out
}

// UnsavedSpeeds returns speeds that the store lacks, for each user those that have waited longest, at
// most keysPerUser series. Each series MUST be stored and passed to SavedSpeeds before new lines are
// heard, since that drops all that the jobs have. A series that fails stays, and is returned again.
func (st *State) UnsavedSpeeds() []*unsavedSeries {
	st.stores++
	all := slices.DeleteFunc(slices.Clone(st.Ordered()), func(js *Job) bool { return len(js.Learnt.fresh)+len(js.Learnt.paces) == 0 })
	slices.SortStableFunc(all, func(a, b *Job) int { return cmp.Compare(a.Learnt.stored, b.Learnt.stored) })
	var out []*unsavedSeries
	at, keys := map[string]*unsavedSeries{}, map[uint32]int{}
	add := func(js *Job, key string, of *[]speed.Sample) {
		if len(*of) == 0 {
			return
		}
		s := at[key]
		if s == nil {
			if keys[js.Rec.Owner.UID] >= keysPerUser {
				*of = slices.Clone((*of)[max(0, len(*of)-unstoredMost):])
				return
			}
			keys[js.Rec.Owner.UID]++
			s = &unsavedSeries{Key: key}
			at[key], out = s, append(out, s)
		}
		s.from, s.jobs = append(s.from, of), append(s.jobs, js)
	}
	for _, js := range all {
		add(js, st.modelOf(js.Rec), &js.Learnt.fresh)
		add(js, st.Rules.paceOf(js.Rec), &js.Learnt.paces)
	}
	return out
}

// SavedSpeeds marks them as stored.
func (sp *Speeds) SavedSpeeds(u *unsavedSeries) {
	for i, of := range u.from {
		*of, u.jobs[i].Learnt.stored = nil, sp.stores
	}
}
