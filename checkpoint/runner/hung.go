package runner

import (
	"fmt"
	"maps"
	"time"

	"github.com/sluice-hpc/sluice/checkpoint/process"
	"github.com/sluice-hpc/sluice/checkpoint/ranks"
)

// A node whose daemons die with all they run, and come back at once, is a healthy
// node to Slurm, which says nothing. srun waits for its tasks there, the script for
// srun, and the allocation stands still until its time is up. So a step that failed,
// of which a node does not end, has a bounded time to end all the same. Nothing is
// concluded from silence: as long as no process of the step has failed, it runs.

// hang is what is known of steps that failed and do not end.
type hang struct {
	after   time.Time // the next look
	before  sruns     // that ran at the last; nil = there was none
	suspect map[string]*suspect
	over    bool       // the script is being ended because of one
	again   bool       // that is how the last start ended
	times   int        // it is, in this run
	rest    ranks.Rest // the last step that hung
}

// suspect is one step that failed and has not ended.
type suspect struct {
	sruns sruns // that ran before it was known and in every look since
	looks int   // since
}

type sruns map[process.Instance]bool

// hangLooks is in how many looks a step must be found hanging, spread over Linger.
// Looks, not time: of a job that was suspended meanwhile only time has gone by.
const hangLooks = 10

// hungGrace is how long a script may take to end of which a step hangs.
const hungGrace = 5 * time.Second

// unhang looks for a step that hangs, and ends the script when one has for long
// enough. The job is then stranded: its GPUs count as taken by that step until Slurm
// ends the job.
func (r *run) unhang() {
	h := &r.hang
	if r.alone || r.child == nil || len(r.where.hosts) < 2 || h.over || r.Now().Before(h.after) {
		return
	}
	h.after = r.Now().Add(r.Linger / hangLooks)
	rest, hangs := h.find(ranks.Unended(r.job.jobDir), r.family.Named("srun"))
	if !hangs || r.state.stopping { // then Slurm ends it
		return
	}
	h.over, h.rest = true, rest
	h.times++
	r.say("%s: Slurm does not know, and srun would wait on. The script is ended, for sluiced to start the job afresh; failing that it is started again here in %v", rest, r.Patience)
	r.remains(r.family.Drain(hungGrace, r.Grace, "srun"))
}

// find takes in a look and returns a step that hangs: one that failed and has not
// ended, while an srun waits that did before. Where none does the script has heard
// of its end, and may well be training in another step.
func (h *hang) find(rests []ranks.Rest, now sruns) (hung ranks.Rest, hangs bool) {
	before := h.before
	if before == nil {
		before = now
	}
	suspects := make(map[string]*suspect, len(rests))
	for _, rest := range rests {
		s := h.suspect[rest.Step]
		if s == nil {
			s = &suspect{sruns: maps.Clone(before)}
		}
		suspects[rest.Step] = s
		maps.DeleteFunc(s.sruns, func(i process.Instance, _ bool) bool { return !now[i] })
		if len(s.sruns) == 0 {
			continue
		}
		if s.looks++; s.looks > hangLooks {
			hung, hangs = rest, true
		}
	}
	h.before, h.suspect = now, suspects
	return hung, hangs
}

// started forgets what was seen of the script's last start.
func (h *hang) started() { *h = hang{again: h.over, times: h.times, rest: h.rest} }

// unhung is what a person should know of steps that hung; "" when none did.
func (r *run) unhung() string {
	if r.hang.times == 0 {
		return ""
	}
	return fmt.Sprintf("a step hung and the script was ended, %d time(s) in this run: %s", r.hang.times, r.hang.rest)
}
