package bench

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"time"
)

// restart is the last start of a job, as found in the log.
type restart struct {
	released time.Time // its last release
	passes   int       // scheduling passes requested after it
}

// lastRestart reads sluiced's log (debug, JSON) for the job's last release. Its times are
// in milliseconds, and an action is logged right before it is carried out.
func lastRestart(log string, job int64) (r restart, err error) {
	f, err := os.Open(log)
	if err != nil {
		return r, err
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var e struct {
			Time time.Time
			Act  string
			Job  int64
		}
		if json.Unmarshal(lines.Bytes(), &e) != nil || e.Job != job {
			continue
		}
		switch e.Act {
		case "start":
			r = restart{released: e.Time}
		case "pass":
			r.passes++
		}
	}
	if err := lines.Err(); err != nil {
		return r, err
	}
	if r.released.IsZero() {
		return r, fmt.Errorf("%s: no release of job %d", log, job)
	}
	return r, nil
}

// toRunning is the time from the job's last release to the newest first line of its script.
func (r restart) toRunning(firstLines []float64) float64 {
	return firstLines[len(firstLines)-1] - float64(r.released.UnixNano())/1e9
}
