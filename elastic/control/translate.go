package control

import (
	"context"
	"errors"

	"github.com/sluice-hpc/sluice/elastic/engine"
	"github.com/sluice-hpc/sluice/slurm"
)

// translations is the one table from the errors of the rooms below to codes;
// the first that matches counts.
var translations = []struct {
	err  error
	code Code
	hint string
}{
	{engine.ErrNoJob, NotFound, "'sluice queue' lists the jobs sluice looks after"},
	{engine.ErrEnded, Conflict, "'sluice history JOB' shows what it did"},
	{engine.ErrBusy, Conflict, "'sluice show JOB' tells what it does"},
	{engine.ErrNoNode, NotFound, "'sluice nodes' lists them"},
	{engine.ErrNoComplaint, Conflict, "'sluice nodes' shows what is said"},
	{slurm.ErrNotFound, NotFound, "'sluice queue' lists the jobs sluice looks after"},
	{slurm.ErrPermission, Denied, "the daemon's account must be a Slurm operator: see 'sluice doctor'"},
	{slurm.ErrControllerDown, Unavailable, "see 'scontrol ping'"},
	{slurm.ErrUnknownOutcome, Unavailable, "see 'sluice show JOB' whether it took effect"},
	{slurm.ErrRefused, Conflict, ""},
	{slurm.ErrWrongState, Conflict, ""},
	{context.DeadlineExceeded, Unavailable, "the daemon is busy or Slurm is slow: try again"},
	{context.Canceled, Unavailable, "the daemon stops"},
}

// translate makes an *Error of any error.
func translate(err error) *Error {
	var known *Error
	if errors.As(err, &known) {
		return known
	}
	for _, t := range translations {
		if errors.Is(err, t.err) {
			return &Error{Code: t.code, Message: err.Error(), Hint: t.hint}
		}
	}
	return &Error{Code: Internal, Message: err.Error(), Hint: "see sluiced's log"}
}
