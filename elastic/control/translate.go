package control

import (
	"context"
	"errors"

	"github.com/sluice-hpc/sluice/elastic/control/wire"
	"github.com/sluice-hpc/sluice/elastic/engine"
	"github.com/sluice-hpc/sluice/slurm"
)

// translations is the one table from errors of other packages to codes; the first match counts.
var translations = []struct {
	err  error
	code wire.Code
	hint string
}{
	{engine.ErrNoJob, wire.NotFound, "'sluice queue' lists the jobs sluice looks after"},
	{engine.ErrEnded, wire.Conflict, "'sluice history JOB' shows what it did"},
	{engine.ErrBusy, wire.Conflict, "'sluice show JOB' tells what it does"},
	{engine.ErrNoNode, wire.NotFound, "'sluice nodes' lists them"},
	{engine.ErrNoComplaint, wire.Conflict, "'sluice nodes' shows what is said"},
	{slurm.ErrNotFound, wire.NotFound, "'sluice queue' lists the jobs sluice looks after"},
	{slurm.ErrPermission, wire.Denied, "the daemon's account must be a Slurm operator: see 'sluice doctor'"},
	{slurm.ErrControllerDown, wire.Unavailable, "see 'scontrol ping'"},
	{slurm.ErrUnknownOutcome, wire.Unavailable, "see 'sluice show JOB' whether it took effect"},
	{slurm.ErrRefused, wire.Conflict, ""},
	{slurm.ErrWrongState, wire.Conflict, ""},
	{context.DeadlineExceeded, wire.Unavailable, "the daemon is busy or Slurm is slow: try again"},
	{context.Canceled, wire.Unavailable, "the daemon stops"},
}

// translate returns the *wire.Error for any error.
func translate(err error) *wire.Error {
	var known *wire.Error
	if errors.As(err, &known) {
		return known
	}
	for _, t := range translations {
		if errors.Is(err, t.err) {
			return &wire.Error{Code: t.code, Message: err.Error(), Hint: t.hint}
		}
	}
	return &wire.Error{Code: wire.Internal, Message: err.Error(), Hint: "see sluiced's log"}
}
