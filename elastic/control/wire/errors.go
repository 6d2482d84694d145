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
	NotFound    Code = "not_found"   // no such job, or none the caller may see
	Conflict    Code = "conflict"    // the job's state does not allow it
	TooMany     Code = "too_many"    // over the caller's limit; try again
	Unavailable Code = "unavailable" // no cycle yet, or Slurm does not answer
	Internal    Code = "internal"    // an error in sluice; see its log
	// NoDaemon comes from the client only: no daemon answers on the socket.
	NoDaemon Code = "no_daemon"
)

// The codes as errors to test for with errors.Is.
var (
	ErrBadRequest  = errors.New("bad request")
	ErrDenied      = errors.New("denied")
	ErrNotFound    = errors.New("not found")
	ErrConflict    = errors.New("conflict")
	ErrTooMany     = errors.New("too many requests")
	ErrUnavailable = errors.New("unavailable")
	ErrInternal    = errors.New("internal error")
	ErrNoDaemon    = errors.New("no daemon")
)

// meaning is the one table of codes: the sentinel and the HTTP status of each. The statuses are
// numbers because linking net/http would add a quarter to the client.
var meaning = map[Code]struct {
	err    error
	status int
}{
	BadRequest:  {ErrBadRequest, 400},
	Denied:      {ErrDenied, 403},
	NotFound:    {ErrNotFound, 404},
	Conflict:    {ErrConflict, 409},
	TooMany:     {ErrTooMany, 429},
	Unavailable: {ErrUnavailable, 503},
	Internal:    {ErrInternal, 500},
	NoDaemon:    {ErrNoDaemon, 503},
}

// Error is a failed request, as sent and as received.
type Error struct {
	Code    Code   `json:"code"`
	Message string `json:"message"`        // one sentence for people
	Hint    string `json:"hint,omitempty"` // what to type next
}

// Error returns the message and the hint.
func (e *Error) Error() string {
	if e.Hint == "" {
		return e.Message
	}
	return fmt.Sprintf("%s (%s)", e.Message, e.Hint)
}

// Unwrap returns the sentinel of the code; ErrInternal for unknown codes.
func (e *Error) Unwrap() error {
	if m, ok := meaning[e.Code]; ok {
		return m.err
	}
	return ErrInternal
}

// Status returns the HTTP status that carries the error.
func (e *Error) Status() int {
	if m, ok := meaning[e.Code]; ok {
		return m.status
	}
	return 500
}

// Fail returns an Error with a code, a hint and a formatted message.
func Fail(code Code, hint, format string, args ...any) *Error {
	return &Error{Code: code, Message: fmt.Sprintf(format, args...), Hint: hint}
}

// Failed is an Error on the wire.
type Failed struct {
	Error *Error `json:"error"`
}

// ErrTooManyWait: too many later callers wait. The request was not read.
var ErrTooManyWait = errors.New("many ask from this node at once")
