package watch

import (
	"context"
	"fmt"
	"time"

	"github.com/sluice-hpc/sluice/elastic/engine/event"
	"github.com/sluice-hpc/sluice/elastic/engine/journal"
	"github.com/sluice-hpc/sluice/elastic/engine/observe"
	"github.com/sluice-hpc/sluice/elastic/engine/track"
)

// Load reads the journal. It does nothing after it has succeeded once. An error leaves Loaded false
// and is returned to the caller, which MUST NOT observe before a later call has succeeded. All reads
// that can fail come BEFORE the first job is remembered, so that a repeated call adds nothing twice.
// An open move that this version does not know (Intent.Known) is such an error: a newer sluice opened
// it, and nothing is started or moved until it is known how it goes on (I6).
func (w *Watch) Load(ctx context.Context, now time.Time) error {
	if w.Loaded {
		return nil
	}
	records, err := w.Observer.Journal.Jobs(ctx, now.Add(-track.EndedMemory))
	if err != nil {
		return fmt.Errorf("reading the journal: %w", err)
	}
	open, err := w.Observer.Journal.Open(ctx)
	if err != nil {
		return fmt.Errorf("reading the journal's open moves: %w", err)
	}
	for _, in := range open {
		if err := in.Known(); err != nil {
			return fmt.Errorf("reading the journal's open moves: %w; nothing is started or moved until the newer sluice runs again", err)
		}
	}
	written, err := w.Observer.Journal.Written(ctx)
	if err != nil {
		return fmt.Errorf("reading the journal's moves: %w", err)
	}
	if w.Kept, err = w.Observer.Journal.Health(ctx); err != nil {
		return fmt.Errorf("reading what the journal knows of nodes' GPUs: %w", err)
	}
	w.Health = w.Kept
	answers, err := w.Observer.Journal.Answers(ctx)
	if err != nil {
		return fmt.Errorf("reading which scripts and models have answered: %w", err)
	}
	credits, err := w.Observer.Journal.Credits(ctx)
	if err != nil {
		return fmt.Errorf("reading what accounts had beyond their shares: %w", err)
	}
	w.Shares.RecallCredits(credits)
	if err := w.recallLengths(ctx, now); err != nil {
		return err
	}
	for _, a := range answers {
		w.Answers[journal.AnswerKey{UID: a.UID, Key: a.Key}] = a.At
	}
	for _, r := range records {
		js := &track.Job{Rec: r}
		// The journal has a move's incarnation BEFORE Slurm has it, so that the larger of both is
		// right (I1).
		if n := written[r.ID]; n > r.Tag.Incarnation { // the daemon crashed before it saved the record
			js.Rec.Tag.Incarnation, js.Dirty = n, true
		}
		w.Remember(js)
		if !r.Ended.IsZero() {
			js.HeardLast(w.Observer.WordsNow([]observe.Box{js.Box()})[0])
		}
		if js.Forgotten() {
			w.AskAgain(now)
		}
	}
	w.Open, w.Loaded = open, true
	// BEFORE the first look: the daemon before may have sent these stops.
	track.PerhapsAsked(w.Open, now)
	w.PerhapsStopping(now)
	for _, in := range open {
		w.Tell(now, in.Job, "taken", track.TakenUp(in), event.OfTaken(in))
	}
	return nil
}

// lengthsMemory is how far back recallLengths reads ended jobs.
const lengthsMemory = 30 * 24 * time.Hour

// recallLengths reads how much of their declared work users' ended jobs took. It MUST be the last
// read of Load: Note adds to the histories, so that a job that is noted twice would count twice.
func (w *Watch) recallLengths(ctx context.Context, now time.Time) error {
	records, err := w.Observer.Journal.Jobs(ctx, now.Add(-lengthsMemory))
	if err != nil {
		return fmt.Errorf("reading how long ended jobs took: %w", err)
	}
	for _, r := range records {
		if !r.Ended.IsZero() {
			w.Lengths.Note(r)
		}
	}
	return nil
}
