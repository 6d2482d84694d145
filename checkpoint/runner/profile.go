package runner

import (
	"fmt"
	"time"

	"github.com/sluice-hpc/sluice/checkpoint"
	"github.com/sluice-hpc/sluice/checkpoint/process"
)

// Profile says how the speed of a run is measured; zero = it is not.
type Profile struct {
	// Warmup steps at the start do not count, Steps after them do. The program gets both
	// and reports its pace.
	Warmup, Steps int
	// Limit ends the run: when the steps are measured, or this long after the script's
	// first line. 0 = the run is not ended.
	Limit time.Duration
}

// String is Warmup+Steps, as SLUICE_PROFILE_STEPS has it; "" for the zero value.
func (p Profile) String() string {
	if p.Steps < 1 {
		return ""
	}
	return fmt.Sprintf("%d+%d", p.Warmup, p.Steps)
}

// Set parses what String writes: Profile is a value of the command line.
func (p *Profile) Set(text string) error {
	var extra string
	n, _ := fmt.Sscanf(text, "%d+%d%s", &p.Warmup, &p.Steps, &extra)
	if n != 2 || p.Warmup < 0 || p.Steps < 1 {
		return fmt.Errorf("want WARMUP+STEPS, such as 5+20")
	}
	return nil
}

// Type is the name of the value in the help.
func (p *Profile) Type() string { return "WARMUP+STEPS" }

// measurement is the progress of a run that only measures.
type measurement struct {
	checkpoint.Measurement
	read int64 // of the progress log
}

// profile ends a run that was started only to measure its speed, once enough is measured.
// Its training is not needed, so nothing is saved.
func (r *run) profile() {
	if r.Profile.Limit <= 0 || r.alone || r.child == nil {
		return
	}
	m := &r.measured
	m.Restarts, m.Warmup = r.job.restarts, r.Profile.Warmup
	r.complain("reading how far the measurement is", r.readProgress())
	switch {
	case m.Enough(r.Profile.Steps):
		r.say("the speed on %d GPU(s) is measured; the run ends here", r.where.gpus)
	case r.Now().Sub(r.first) > r.Profile.Limit:
		r.say("the time for the measurement, %v, is over; the run ends here", r.Profile.Limit)
	default:
		return
	}
	r.perform(drain{})
	r.state.exit = &process.Exit{} // exit 0: it must not be started again
	r.perform(quit{0})
}

// readProgress reads the new lines of the progress log.
func (r *run) readProgress() error {
	dir, err := checkpoint.OpenDir(r.job.program())
	if err != nil {
		return err
	}
	defer dir.Close()
	lines, next, _, err := dir.Progress(r.measured.read)
	for _, line := range lines {
		r.measured.Add(line)
	}
	r.measured.read = next
	return err
}
