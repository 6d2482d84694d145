package runner

import (
	"encoding/json"
	"time"
)

// Slurm and srun write about each step that Slurm kills into the user's output: some
// eight lines per resize. So a program that can exits by itself once its answer is
// verified, BEFORE sluiced learns of it and stops the job. What waits for its srun, above
// all the script, is ended BEFORE that: it would take the exit for success. The runner
// stays, and with it the job: Slurm sees no end. A move that is abandoned after that
// costs a start, from the checkpoint just verified.

// quietly bounds the wait for the job's steps to end by themselves.
const quietly = 5 * time.Second

// settle ends the job's steps before Slurm does.
func (r *run) settle() {
	request := r.state.request
	if request == nil || r.child == nil || r.fence != nil || r.adopted.habit != nil || len(r.family.Named("srun")) == 0 {
		return
	}
	r.settled = true
	if !r.family.Behead("srun", politely) {
		return // it ended in the meantime
	}
	word := *request
	word.End = true
	data, err := json.Marshal(word)
	if err == nil {
		err = r.job.ask(append(data, '\n'))
	}
	r.complain("telling the program to end", err)
	over := time.NewTimer(quietly)
	defer over.Stop()
	for len(r.family.Named("srun")) > 0 {
		select {
		case <-time.After(r.Poll / 10):
			continue
		case <-over.C:
		}
		r.drain() // some rank may have ended: the others cannot continue
		return
	}
}

// unsettled reports that a job that was settled is started again.
func (r *run) unsettled() {
	if r.settled {
		r.announce(true, "ended to be moved, which was given up")
	}
	r.settled = false
}
