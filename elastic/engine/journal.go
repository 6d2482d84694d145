package engine

import "errors"

// What every Journal says in the same words. Test with errors.Is.
var (
	// ErrIntentOpen: the job already has an open intent; one at a time.
	ErrIntentOpen = errors.New("a move of this job is already open in the journal")
	// ErrNoIntent: the journal holds no such open intent.
	ErrNoIntent = errors.New("no such open move in the journal")
)
