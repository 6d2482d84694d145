package elastic

import (
	"errors"
	"fmt"
	"slices"
)

// ErrUnknownMove: a newer sluice wrote the move, and only a newer one knows its next effect.
var ErrUnknownMove = errors.New("a move of a newer sluice")

// Kinds returns the kinds of move. A new kind MUST come with a new schema number of the store,
// so that a sluice that does not know it refuses the file
// (store.TestKindsAndSchemaChangeTogether).
func Kinds() []Kind { return []Kind{Start, Resize, Park, Revival, Clearing, Save} }

// MoveSteps returns the steps of a move. For a new step the same holds as for a new kind.
func MoveSteps() []Step {
	return []Step{Intended, Asked, Verified, Requeued, Written, Released, Confirmed}
}

// Known returns ErrUnknownMove for a kind or a step that this sluice does not know. The table
// of package resize has no rows for it; treated as another kind, it would get that kind's
// effects.
func (in Intent) Known() error {
	switch {
	case !slices.Contains(Kinds(), in.Kind):
		return fmt.Errorf("job %d, move %d: kind %.40q: %w", in.Job, in.ID, string(in.Kind), ErrUnknownMove)
	case !slices.Contains(MoveSteps(), in.Step):
		return fmt.Errorf("job %d, move %d: step %d: %w", in.Job, in.ID, in.Step, ErrUnknownMove)
	}
	return nil
}
