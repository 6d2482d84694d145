package lane

import (
	"fmt"

	"github.com/sluice-hpc/sluice/checkpoint"
	"github.com/sluice-hpc/sluice/elastic/sweep"
)

// kindOf is the type of a lane's GPUs; "" = not known.
func kindOf(vars map[string]string) string {
	if kind := vars["SLUICE_GPU_TYPE"]; sweep.ValidType(kind) {
		return kind
	}
	return ""
}

// shares looks for what other lanes have measured, and writes what this one has.
func (h *hub) shares() error {
	_, settled := h.decider.Settled()
	if now := h.Now(); now.Sub(h.looked) >= shareEvery || settled && h.wrote == 0 {
		h.looked = now
		if other, found := h.measured(); found {
			h.decider.Follow(other)
		}
	}
	answer, settled := h.decider.Settled()
	if !settled || answer.Trials == h.wrote {
		return nil
	}
	h.wrote = answer.Trials
	h.say("trials at once on these GPUs: %d; why: sluice sweep explain %d", answer.Trials, h.number)
	if other, found := h.measured(); found && other.Trials <= answer.Trials {
		return nil
	}
	answer.At, answer.Job, answer.GPUs, answer.Type = h.Now().UTC(), h.job, h.gpus, h.kind
	if err := writeIn(h.Sweep, sweep.SharingFile(h.gpus, h.kind), answer); err != nil {
		fmt.Fprintf(h.Stderr, "sluice: other lanes have to measure for themselves: %v\n", err)
	}
	return nil
}

// measured is what a lane with as many GPUs of the same type has measured. If there is no such answer, one without a type
// counts: it is that of a lane that did not know its type, or of an older sluice.
func (h *hub) measured() (sweep.Sharing, bool) {
	if s, found := h.answerOf(h.kind); found || h.kind == "" {
		return s, found
	}
	return h.answerOf("")
}

func (h *hub) answerOf(kind string) (sweep.Sharing, bool) {
	data, err := checkpoint.ReadIn(h.Sweep, sweep.SharingFile(h.gpus, kind), sweep.MaxSmall)
	if err != nil {
		return sweep.Sharing{}, false
	}
	s, err := sweep.ParseSharing(data)
	return s, err == nil && s.GPUs == h.gpus && s.Type == kind
}
