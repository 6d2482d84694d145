package elastic

import (
	"errors"
	"fmt"
	"slices"
)

// ErrUnknownMove: a newer sluice wrote the move. What its next effect is, only that one knows.
var ErrUnknownMove = errors.New("a move of a newer sluice")

// Kinds lists the kinds of move. A new one needs a new schema number of the store, so that
// a sluice that does not know it refuses the file (store.TestKindsAndSchemaChangeTogether).
func Kinds() []Kind { return []Kind{Start, Resize, Park, Revival, Clearing, Save} }

// MoveSteps lists the steps of a move, and the same holds for them.
func MoveSteps() []Step {
	return []Step{Intended, Asked, Verified, Requeued, Written, Released, Confirmed}
}

// Known returns ErrUnknownMove for a kind or a step that this sluice does not know. The table
// has no rows for it, and taken for another kind it would be given that one's effects.
func (in Intent) Known() error {
	switch {
	case !slices.Contains(Kinds(), in.Kind):
		return fmt.Errorf("job %d, move %d: kind %.40q: %w", in.Job, in.ID, string(in.Kind), ErrUnknownMove)
	case !slices.Contains(MoveSteps(), in.Step):
		return fmt.Errorf("job %d, move %d: step %d: %w", in.Job, in.ID, in.Step, ErrUnknownMove)
	}
	return nil
}
