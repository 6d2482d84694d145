package runner

import (
	"fmt"
	"maps"
	"time"

	"github.com/sluice-hpc/sluice/checkpoint/process"
	"github.com/sluice-hpc/sluice/checkpoint/ranks"
)

// If a node's daemons are killed with all that they run, and restarted at once, the node
// is healthy for Slurm, which reports nothing. srun waits for its tasks there, the script
// waits for srun, and the allocation is idle until its time limit. So a failed step that
// does not end on a node gets a bounded time to end. Silence proves nothing: as long as
// no process of the step has failed, it runs.

// hang is what is known of a failed step that does not end.
type hang struct {
	after time.Time // time of the next look
	step  string    // the step found so at the last look; "" = none
	sruns sruns     // srun processes that ran at the last look, and at each look that found it so
	looks int       // consecutive looks that found it so
	over  bool      // the script is being ended because of it
	again bool      // the last start ended in this way
	times int       // how often, in this run
	rest  ranks.Rest
}

type sruns map[process.Instance]bool

// hangLooks is the number of looks, spread over Linger, in which a step must be found
// hanging. Looks rather than time: for a job that was suspended only time has passed.
const hangLooks = 10

// hungGrace is how long a script with a hanging step may take to end.
const hungGrace = 5 * time.Second

// unhang looks for a step that hangs, and ends the script if one has for long enough. The
// job is then stranded: Slurm counts its GPUs as used by that step until it ends the job.
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
	r.say("%s: Slurm has not noticed, and srun would wait indefinitely. The script is ended so that sluiced requeues the job; if it does not, the script is started again here in %v", rest, r.Patience)
	r.endNetwork()
	r.remains(r.family.Drain(hungGrace, r.Grace, "srun"))
}

// find adds the result of a look, which found the step unended ("" for none), and reports
// whether it hangs: an srun that waited at the earlier looks still waits. If none does
// the script was told of its end, and goes on.
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

// started clears what was seen of the script's last start.
func (h *hang) started() { *h = hang{again: h.over, times: h.times, rest: h.rest} }

// unhung is a note for the user about steps that hung; "" if none did.
func (r *run) unhung() string {
	if r.hang.times == 0 {
		return ""
	}
	return fmt.Sprintf("a step hung and the script was ended, %d time(s) in this run: %s", r.hang.times, r.hang.rest)
}
