package wire

import (
	"errors"
	"fmt"
)

// Code is the kind of a failure, for programs. The meaning of a code never changes.
type Code string

// The codes of failures.
const (
	BadRequest  Code = "bad_request" // the request is not valid
	Denied      Code = "denied"      // the caller has no permission
	NotFound    Code = "not_found"   // there is no such data set or job, or none that the caller may see
	Conflict    Code = "conflict"    // the state of the job or the data set does not allow it
	OverBudget  Code = "over_budget" // the budget of a data set is used up
	Refused     Code = "refused"     // sluice submit or Slurm refused the job
	TooMany     Code = "too_many"    // over the caller's limit; try again
	Unavailable Code = "unavailable" // Slurm or the disk does not answer, or the outcome is unknown
	Internal    Code = "internal"    // an error in sluice-vaultd; see its log
	// NoDaemon comes from the client only: no daemon answers on the socket, or none was asked.
	NoDaemon Code = "no_daemon"
)

// The codes as errors to test for with errors.Is.
var (
	ErrBadRequest  = errors.New("bad request")
	ErrDenied      = errors.New("denied")
	ErrNotFound    = errors.New("not found")
	ErrConflict    = errors.New("conflict")
	ErrOverBudget  = errors.New("over the budget")
	ErrRefused     = errors.New("refused")
	ErrTooMany     = errors.New("too many requests")
	ErrUnavailable = errors.New("unavailable")
	ErrInternal    = errors.New("internal error")
	ErrNoDaemon    = errors.New("no daemon")
)

var meaning = map[Code]error{
	BadRequest: ErrBadRequest, Denied: ErrDenied, NotFound: ErrNotFound, Conflict: ErrConflict, OverBudget: ErrOverBudget,
	Refused: ErrRefused, TooMany: ErrTooMany, Unavailable: ErrUnavailable, Internal: ErrInternal, NoDaemon: ErrNoDaemon,
}

// Error is a failed request, as sent and as received.
type Error struct {
	Code Code   `json:"code"`
	Text string `json:"text"`           // what happened, for people; may have several lines
	Hint string `json:"hint,omitempty"` // what to type next
}

// Error returns the text and the hint.
func (e *Error) Error() string {
	if e.Hint == "" {
		return e.Text
	}
	return fmt.Sprintf("%s (%s)", e.Text, e.Hint)
}

// Unwrap returns the sentinel of the code; ErrInternal for unknown codes.
func (e *Error) Unwrap() error {
	if err, ok := meaning[e.Code]; ok {
		return err
	}
	return ErrInternal
}

// Fail returns an Error with a code, a hint and a formatted text.
func Fail(code Code, hint, format string, args ...any) *Error {
	return &Error{Code: code, Text: fmt.Sprintf(format, args...), Hint: hint}
}
