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

// hang is what is known of a step that failed and does not end.
type hang struct {
	after time.Time // the next look
	step  string    // that was found so at the last; "" = none
	sruns sruns     // that ran at the last, and while it was found so at each look
	looks int       // that found it so, in a row
	over  bool      // the script is being ended because of it
	again bool      // that is how the last start ended
	times int       // it is, in this run
	rest  ranks.Rest
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
	rest, _ := ranks.Unended(r.job.jobDir)
	if !h.find(rest.Step, r.family.Named("srun")) || r.state.stopping { // then Slurm ends it
		return
	}
	h.over, h.rest = true, rest
	h.times++
	r.say("%s: Slurm does not know, and srun would wait on. The script is ended, for sluiced to start the job afresh; failing that it is started again here in %v", rest, r.Patience)
	r.remains(r.family.Drain(hungGrace, r.Grace, "srun"))
}

// find takes in a look, which found the step unended, "" for none, and reports whether
// it hangs: while an srun waits that did before. Where none does the script has heard
// of its end, and goes on.
func (h *hang) find(step string, now sruns) bool {
	if step == "" {
		h.step, h.sruns, h.looks = "", now, 0
		return false
	}
	if step != h.step {
		h.step, h.looks = step, 0
		if len(h.sruns) == 0 { // it has failed since it was started
			h.sruns = now
		}
	}
	h.sruns = maps.Clone(h.sruns)
	maps.DeleteFunc(h.sruns, func(i process.Instance, _ bool) bool { return !now[i] })
	if len(h.sruns) == 0 {
		h.looks = 0
		return false
	}
	h.looks++
	return h.looks > hangLooks
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
