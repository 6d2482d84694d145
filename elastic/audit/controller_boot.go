package audit

import "slices"

// A site may have a backup slurmctld, and both may write to one log. A slurmctld that starts
// logs it, and then reads the saved state or stands by. A backup also reads the state when it
// takes over; a primary that returns makes the backup stand by.

// boots notes that a slurmctld is about to read the saved state.
func (p *controller) boots(l Line) {
	p.add(Record{Line: l, Kind: Booted, UID: -1})
	p.forget()
}

// forget drops the state of calls under way.
func (p *controller) forget() {
	p.changes, p.gres, p.killers, p.steps = map[int64]*Change{}, map[int64][]Share{}, map[int64]int64{}, map[int64]bool{}
	p.requeuers, p.starting, p.before = nil, 0, nil
}

// standsBy undoes the start of a slurmctld that read no state. What the active one logged since
// then is newer than the state kept before.
func (p *controller) standsBy() {
	was := p.before
	if was == nil { // the active one hands over
		return
	}
	p.records = slices.Delete(p.records, len(was.records), len(was.records)+1)
	known(p.changes, was.changes)
	known(p.gres, was.gres)
	known(p.killers, was.killers)
	known(p.steps, was.steps)
	p.requeuers = append(was.requeuers, p.requeuers...)
	if p.starting == 0 {
		p.starting = was.starting
	}
	p.before = nil
}

// known adds to now the keys that only old has.
func known[V any](now, old map[int64]V) {
	for id, v := range old {
		if _, newer := now[id]; !newer {
			now[id] = v
		}
	}
}
