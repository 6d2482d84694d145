package audit

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// TestBackupController: one log of two slurmctld. The start of a backup ends nothing; its
// takeover and the return of the primary are starts, in whatever order the two log them.
// Changes of a call under way when the backup started are not lost.
func TestBackupController(t *testing.T) {
	const starts, stands = "slurmctld version 22.05.8 started on cluster lab1", "slurmctld running in background mode"
	primary := []string{starts, "debug2: shutting down backup controllers (my index: 0)", "debug:  Requesting control from backup controller vm-backup"}
	takes := []string{"error: ControlMachine vm not responding, BackupController1 vm-backup taking over", "Recovered JobId=1 Assoc=0",
		"debug2: shutting down backup controllers (my index: 1)", "Running as primary controller"}
	for name, c := range map[string]struct {
		lines []string
		want  string
	}{
		"backup starts": {[]string{starts, "Running as primary controller", "_update_job: setting priority to 0 for JobId=1", starts, stands,
			"_slurm_rpc_update_job: complete JobId=1 uid=7 usec=1"},
			"booted 0; changed 1 held"},
		"takes over": {append([]string{starts, stands}, takes...), "booted 0; recovered 1"},
		"primary returns": {append(primary[:len(primary):len(primary)], stands, "debug:  backup controller vm-backup has relinquished control",
			"Recovered JobId=1 Assoc=0", "Running as primary controller"), "booted 0; recovered 1"},
		"primary returns, 24.11": {append(primary[:len(primary):len(primary)], "debug:  backup controller vm-backup has relinquished control",
			"Recovered JobId=1 Assoc=0", "Running as primary controller", stands), "booted 0; recovered 1"},
		"again and again": {append(append(append([]string{starts, stands}, takes...), append(primary[:len(primary):len(primary)], stands)...), takes...),
			"booted 0; recovered 1; booted 0; booted 0; recovered 1"},
	} {
		log := "[2026-11-21T14:27:00.540] " + strings.Join(c.lines, "\n[2026-11-21T14:27:00.540] ") + "\n"
		records, err := ParseController(strings.NewReader(log), "slurmctld.log", time.UTC)
		var got []string
		for _, r := range records {
			text := fmt.Sprintf("%s %d", r.Kind, r.Job)
			if r.Change.Held {
				text += " held"
			}
			got = append(got, text)
		}
		if list := strings.Join(got, "; "); err != nil || list != c.want {
			t.Errorf("%s: %q, %v, want %q", name, list, err, c.want)
		}
	}
}
