package fake

import (
	"fmt"
	"strings"
	"time"

	"github.com/sluice-hpc/sluice/slurm"
)

// logf adds one line to the event log, stamped with the time since the start.
func (f *Fake) logf(format string, args ...any) {
	line := fmt.Sprintf(format, args...)
	f.log = append(f.log, fmt.Sprintf("%s %s", stamp(f.now.Sub(f.cfg.Start)), line))
	if f.cfg.Watch != nil {
		f.cfg.Watch(f.now, line)
	}
}

// stamp formats a duration as hours, minutes, seconds and milliseconds.
func stamp(d time.Duration) string {
	ms := d.Milliseconds()
	return fmt.Sprintf("%03d:%02d:%02d.%03d", ms/3_600_000, ms/60_000%60, ms/1000%60, ms%1000)
}

// Log returns the event log: one line an event, in order.
func (f *Fake) Log() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return append([]string(nil), f.log...)
}

// LogText returns the event log as one text.
func (f *Fake) LogText() string {
	return strings.Join(append(f.Log(), ""), "\n")
}

// Calls returns how often a command was called through Sessions, by the name that faults
// use for it ("squeue", "scontrol update" ...).
func (f *Fake) Calls(op string) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.counts[op]
}

// Change is one call that Slurm carried out, whether or not the caller got the reply.
type Change struct {
	At  time.Time
	By  string // the Session's name
	Op  string // "scontrol release", see Ops
	Job slurm.JobID
}

// Changes returns every call so far that changed something, in order.
func (f *Fake) Changes() []Change {
	f.mu.Lock()
	defer f.mu.Unlock()
	return append([]Change(nil), f.changes...)
}

// End is the entry of a job into a final state. A job that is requeued afterwards may
// have several.
type End struct {
	At    time.Time
	Job   slurm.JobID
	State slurm.State
	Why   Cause // zero if its script ended by itself
}

// Ends returns every End so far, in order, also those of jobs no longer remembered.
func (f *Fake) Ends() []End {
	f.mu.Lock()
	defer f.mu.Unlock()
	return append([]End(nil), f.ends...)
}
