package command

import (
	"strings"

	"github.com/sluice-hpc/sluice/slurm"
)

const (
	hintDown = "see whether slurmctld runs: scontrol ping"
	// Without munged Slurm's programs print nothing for 50 s, which is longer than the
	// deadline of a call.
	hintSilent = "see whether slurmctld and munged run: scontrol ping; munge -n | unmunge"
	hintMunge  = "see whether munged runs on this machine: munge -n | unmunge"
	hintLook   = "look at the job before trying again: squeue -j JOBID"
	hintOwner  = "only the job's owner and Slurm's operators may do this"
	hintConf   = "see that SLURM_CONF names this cluster's slurm.conf"
	hintRetry  = "try again in a few seconds"
	hintBatch  = "submit it with sbatch --requeue"
	hintSizes  = "compare with the cluster: sinfo -N -O NodeList,Gres,StateLong"
	hintScript = "see the script's path and its first line"
)

// refusal maps a text that Slurm prints to a kind of error. change is the kind for a
// command that alters a job, query for one that only asks; where they differ, the request
// may have been carried out although the answer was lost.
type refusal struct {
	words  string // in lower case; part of the printed text
	change error
	query  error
	hint   string
}

func both(words string, kind error, hint string) refusal { return refusal{words, kind, kind, hint} }

// refusals is read from the top and the first match decides, so a cause stands above its
// consequences. The texts are the same from 20.11 to 26.05 unless noted.
var refusals = []refusal{
	// The request did not leave this machine.
	both("munge encode failed", slurm.ErrControllerDown, hintMunge),
	both("unable to process configuration file", slurm.ErrControllerDown, hintConf),
	both("could not establish a configuration source", slurm.ErrControllerDown, hintConf), // 23.02 on
	// The connection was closed by a slurmctld that was killed; the next attempts failed.
	{"unexpected missing socket error", slurm.ErrUnknownOutcome, slurm.ErrControllerDown, hintLook},
	both("unable to contact slurm controller", slurm.ErrControllerDown, hintDown),
	both("connection refused", slurm.ErrControllerDown, hintDown),
	both("slurm backup controller in standby mode", slurm.ErrControllerDown, hintDown),
	// The request was sent and no valid answer came back. "Unexpected message" is all
	// that scontrol update and requeuehold print for any communication failure.
	{"socket timed out", slurm.ErrUnknownOutcome, slurm.ErrControllerDown, hintLook},
	{"zero bytes were transmitted or received", slurm.ErrUnknownOutcome, slurm.ErrControllerDown, hintLook},
	{"connection reset by peer", slurm.ErrUnknownOutcome, slurm.ErrControllerDown, hintLook},
	{"unexpected message received", slurm.ErrUnknownOutcome, slurm.ErrControllerDown, hintLook},
	{"communication shutdown failure", slurm.ErrUnknownOutcome, slurm.ErrControllerDown, hintLook},
	{"message receive failure", slurm.ErrUnknownOutcome, slurm.ErrControllerDown, hintLook},
	{"protocol authentication error", slurm.ErrControllerDown, slurm.ErrControllerDown, hintMunge},
	{"invalid authentication credential", slurm.ErrControllerDown, slurm.ErrControllerDown, hintMunge},
	both("unable to contact", slurm.ErrControllerDown, hintDown),

	both("invalid job id", slurm.ErrNotFound, ""),
	both("access/permission denied", slurm.ErrPermission, hintOwner),
	both("invalid user id", slurm.ErrPermission, hintOwner),
	both("user not found on host", slurm.ErrPermission, hintOwner),

	both("job is no longer pending execution", slurm.ErrWrongState, ""),
	both("job has already finished", slurm.ErrWrongState, ""),
	both("job/step already completing or completed", slurm.ErrWrongState, ""),
	both("job is pending execution", slurm.ErrWrongState, ""),
	both("job is in held state", slurm.ErrWrongState, ""),
	both("job can not be altered now", slurm.ErrWrongState, hintRetry),
	both("the db index is being set", slurm.ErrWrongState, hintRetry), // 22.05
	both("job/step was not suspended", slurm.ErrWrongState, ""),
	both("requested operation is presently disabled", slurm.ErrRefused, hintBatch),

	both("slurm temporarily unable to accept job", slurm.ErrRefused, hintRetry),
	both("resource temporarily unavailable", slurm.ErrAgain, hintRetry),
	both("invalid node name", slurm.ErrRefused, hintSizes),
	both("node count specification invalid", slurm.ErrRefused, hintSizes),
	both("requested node configuration is not available", slurm.ErrRefused, hintSizes),
	both("requested partition configuration not available", slurm.ErrRefused, hintSizes),
	both("unable to open file", slurm.ErrRefused, hintScript),
	both("does not look like a batch script", slurm.ErrRefused, hintScript),
}

// refused makes the error of a program that exited with a failure. status replaces the
// text if the program printed none, as scancel sometimes does.
func (k call) refused(out answer, status string) error {
	printed := out.stderr
	if strings.TrimSpace(printed) == "" {
		printed = out.stdout
	}
	words := clean(printed)
	if words == "" {
		words = status
	}
	if err := k.recognise(words, refusals); err != nil {
		return err
	}
	return k.fail(slurm.ErrRefused, words, "")
}

// recognise returns the error that the first fitting row names, or nil.
func (k call) recognise(words string, rows []refusal) error {
	lower := strings.ToLower(words)
	for _, r := range rows {
		if !strings.Contains(lower, r.words) {
			continue
		}
		if k.mutates {
			return k.fail(r.change, words, r.hint)
		}
		if r.query != r.change {
			return k.fail(r.query, words, hintDown)
		}
		return k.fail(r.query, words, r.hint)
	}
	return nil
}

// silentRefusals are error texts of programs that exit with 0 although they did not make
// the change. Other warnings of a program that exits with 0, for example about an old
// option in slurm.conf, do not concern the call.
var silentRefusals = []refusal{
	both("is less than minimum node count", slurm.ErrRefused, hintSizes), // 24.11 on
	both("update of this parameter is not supported", slurm.ErrRefused, ""),
	both("request aborted", slurm.ErrRefused, ""),
}

// accepted checks an exit with 0: the change must have been made, and a query that
// printed nothing must have reached the controller.
func (k call) accepted(out answer) error {
	switch {
	case out.stderr == "":
		return nil
	case k.mutates:
		return k.recognise(clean(out.stderr), silentRefusals)
	case strings.TrimSpace(out.stdout) == "":
		return k.recognise(clean(out.stderr), refusals)
	}
	return nil
}
