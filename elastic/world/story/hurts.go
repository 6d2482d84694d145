package story

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"
)

// losePower carries out the effect and simulates a power loss of the daemon's machine during it: the
// effect is not acknowledged, and Tear undoes a part of it.
func (d *daemon) losePower(name string, effect func() error) {
	before := d.moves()
	d.shelf.Mark()
	if err := effect(); err == nil && !d.damaged {
		d.stood = []string{before, d.moves()}
	}
	panic(crashed{at: name, power: true})
}

// tear applies a power loss to the last write.
func (d *daemon) tear() {
	if err := d.shelf.Tear(d.play.s.Seed ^ uint64(d.effects)<<20); err != nil {
		d.play.broken("F2 the store could not be torn: %v", err)
	}
}

// moves formats the open moves of the journal.
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

// expected compares a journal that was opened after a power loss, or after it was another version's
// for a while, with its contents before: nothing acknowledged is missing, nothing is incomplete,
// and the store reports no damage.
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

// hurt damages the store, of a running or a killed daemon.
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
		return false // it must be closed properly before it is migrated
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
		d.stood, d.damaged = nil, true // its contents may be lost
	}
	return done
}

// mend puts the store of the right version back, as an administrator would.
func (p *play) mend() {
	if p.d.newer.IsZero() {
		return // it was put back before
	}
	if p.d.now != nil {
		p.broken("F8 a store of a newer version was opened")
	}
	p.d.newer = time.Time{}
	if err := p.d.shelf.Mend(); err != nil {
		p.broken("F8 %v", err)
	}
}

// between does what sluiced does between two cycles: it applies a reloaded configuration, and stops
// after its store has found damage, so that the next start sets the store aside.
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
