package lane

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"time"
)

// given are the variables of a trial that a host takes over. Those of the process, such as the
// addresses at which its ranks meet, stay.
var given = []string{
	"SLUICE_JOB_ID", "SLUICE_JOB_DIR", "SLUICE_REQUEST", "SLUICE_CHECKPOINTS", "SLUICE_RESUME", "SLUICE_RESTARTS", "SLUICE_INCARNATION",
	"SLUICE_UNIT", "SLUICE_SWEEP", "SLUICE_TRIAL", "SLUICE_SEED", "SLUICE_TRIAL_METRIC", "SLUICE_TRIAL_OUTPUT", "SLUICE_PARAMS",
}

// Bounds of the time between two looks of a stand-in: the hundredth part of the time that the trial
// has taken, so that an end is noticed with a delay of 1 % at most.
const (
	shortLook = 10 * time.Millisecond
	longLook  = 200 * time.Millisecond
)

// StandIn is the script of a trial that a host trains: it hands the trial to the host with this
// folder, waits until the trial is over, and returns the exit code. Entries of env are "NAME=value".
func StandIn(folder string, env []string, now func() time.Time, errs io.Writer) int {
	deaf()
	n := next{Version: 1, ID: rand.Text(), Environment: map[string]string{}}
	for _, name := range given {
		n.Environment[name] = ""
	}
	for _, entry := range env {
		name, value, _ := strings.Cut(entry, "=")
		if _, is := n.Environment[name]; is || strings.HasPrefix(name, "SLUICE_PARAM_") {
			n.Environment[name] = value
		}
	}
	if err := writeIn(folder, nextFile, n); err != nil {
		fmt.Fprintln(errs, "sluice: error: the trial cannot be handed to the process that waits for it:", err)
		return 1
	}
	began := now()
	for {
		var r ready
		var d died
		switch {
		case readJSON(folder, readyFile, &r) && r.After == n.ID && r.Failed:
			return 1
		case r.After == n.ID:
			return 0
		case readJSON(folder, diedFile, &d):
			return d.Code
		}
		if _, err := os.Stat(folder); errors.Is(err, fs.ErrNotExist) {
			return 1 // of an earlier run of the lane
		}
		time.Sleep(min(max(now().Sub(began)/100, shortLook), longLook))
	}
}
