package story

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"
)

// losePower carries the effect out, and ends the daemon's machine in the middle of it:
// nobody has learnt that it succeeded, and Tear takes back a part of it.
func (d *daemon) losePower(name string, effect func() error) {
	before := d.moves()
	d.shelf.Mark()
	if err := effect(); err == nil && !d.damaged {
		d.stood = []string{before, d.moves()}
	}
	panic(crashed{at: name, power: true})
}

// tear leaves of the last write what a power loss leaves.
func (d *daemon) tear() {
	if err := d.shelf.Tear(d.play.s.Seed ^ uint64(d.effects)<<20); err != nil {
		d.play.broken("F2 the store could not be torn: %v", err)
	}
}

// moves says which moves the journal holds open.
func (d *daemon) moves() string {
	open, err := d.journal.Open(context.WithoutCancel(d.play.ctx))
	if err != nil {
		return err.Error()
	}
	var b strings.Builder
	for _, in := range open {
		fmt.Fprintf(&b, "%d: job %d %s to %s, incarnation %d at R%d; ", in.ID, in.Job, in.Kind, in.Target, in.To, in.Step)
	}
	return b.String()
}

// expected holds what a journal says that was opened after a power loss, or that was
// another version's for a while, against what it said before: nothing that was
// acknowledged is missing, nothing is there by half, and there is no complaint.
func (d *daemon) expected(notices []string) {
	stood := d.stood
	d.stood, d.damaged = nil, false
	if stood == nil {
		return
	}
	if now := d.moves(); !slices.Contains(stood, now) || len(notices) > 0 {
		d.play.broken("F2 the store says %q (%q), wanted one of %q", now, notices, stood)
	}
}

// hurt damages the store: of a daemon that runs, or of one that was killed.
func (p *play) hurt(a Act) bool {
	d := p.d
	newer := a.What == "store is newer"
	if !d.newer.IsZero() || newer && d.damaged { // no program opens that one
		return false
	}
	running := a.Way&1 == 1 && a.What != "store is half lost"
	if d.now != nil && (newer || !running) {
		if newer {
			d.stood = []string{d.moves()}
		}
		d.dies(!newer, again)
	} else if newer {
		return false // it has to be closed well to be brought to another version
	}
	done, err := d.shelf.Hurt(a.What, a.Way>>1)
	switch {
	case err != nil:
		p.broken("%s: %v", a.What, err)
	case newer && done:
		d.newer = p.w.Now().Add(a.For)
		p.w.At(p.now()+a.For, p.mend)
	case newer:
		d.stood = nil
	case done:
		d.stood, d.damaged = nil, true // what it said may be gone
	}
	return done
}

// mend is a person putting the store of the right version back.
func (p *play) mend() {
	if p.d.newer.IsZero() {
		return // somebody was at it before
	}
	if p.d.now != nil {
		p.broken("F8 a store of a newer version was opened")
	}
	p.d.newer = time.Time{}
	if err := p.d.shelf.Mend(); err != nil {
		p.broken("F8 %v", err)
	}
}

// between is what sluiced does between two cycles: it takes a new configuration over,
// and stops once its store has met damage, so that its next life sets it aside.
func (d *daemon) between() {
	if d.reload && d.now != nil {
		d.now.Reconfigure(d.tunes[len(d.tunes)-1])
	}
	d.reload = false
	j, ok := d.journal.(interface{ Damage() error })
	if !ok {
		return
	}
	if err := j.Damage(); err != nil {
		d.play.did("sluiced stops for damage")
		d.play.note("sluiced stops: %v", err)
		d.dies(false, again)
	}
}
