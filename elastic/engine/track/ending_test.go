package track

import (
	"testing"
	"time"

	"github.com/sluice-hpc/sluice/checkpoint"
	"github.com/sluice-hpc/sluice/elastic/engine/journal"
	"github.com/sluice-hpc/sluice/slurm"
)

// TestUnopenedOutputs: what each release of Slurm shows if an output file could not be opened,
// compared with scripts that fail by themselves.
func TestUnopenedOutputs(t *testing.T) {
	heard := runnerWord{word: checkpoint.Runner{Restarts: 2}, ok: true}
	for name, c := range map[string]struct {
		slurm  slurm.Job
		runner runnerWord
		want   journal.How
	}{
		"22.05":                     {slurm.Job{ExitSignal: slurm.LaunchIO, Reason: "JobLaunchFailure"}, runnerWord{}, journal.NoOutput},
		"24.11 and 26.05":           {slurm.Job{ExitSignal: slurm.LaunchIO, Reason: "RaisedSignal:53(Real-time_signal_19)"}, runnerWord{}, journal.NoOutput},
		"20.11":                     {slurm.Job{ExitCode: 1, Reason: "NonZeroExitCode"}, runnerWord{}, journal.Silent},
		"20.11, after a move":       {slurm.Job{ExitCode: 1, Reason: "NonZeroExitCode", Restarts: 3}, heard, journal.Silent},
		"a script that was started": {slurm.Job{ExitCode: 1, Reason: "NonZeroExitCode", Restarts: 2}, heard, journal.Failed},
		"22.05, its runner killed":  {slurm.Job{ExitSignal: 9, Reason: "JobLaunchFailure", Restarts: 2}, heard, journal.Killed},
		"another exit code":         {slurm.Job{ExitCode: 3, Reason: "NonZeroExitCode"}, runnerWord{}, journal.Failed},
	} {
		t.Run(name, func(t *testing.T) {
			c.slurm.State, c.slurm.StdOut = slurm.Failed, "/gone/x"
			js := &Job{Shown: shown{Slurm: c.slurm}, Mail: mail{runner: c.runner},
				Rec: journal.JobRecord{Life: journal.Life{State: string(slurm.Failed), Ended: time.Unix(1, 0), FirstRun: time.Unix(0, 1)}}}
			got := js.Ending()
			if got.How != c.want || (got.Output == "/gone/x") != (c.want != journal.Failed && c.want != journal.Killed) {
				t.Errorf("%+v: %s", got, got)
			}
		})
	}
}
