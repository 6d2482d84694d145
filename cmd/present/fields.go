package present

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/sluice-hpc/sluice/cmd/terminal"
	"github.com/sluice-hpc/sluice/elastic/control/wire"
)

// Jobs are all fields that a list of jobs can show. squeue's letters, where it has one.
var Jobs = List[wire.Job]{Fields: jobFields, values: jobValues, first: asStarted}

var jobFields = []Field[wire.Job]{
	{"jobid", "i", terminal.Right("JOBID"), func(j *wire.Job, _ time.Time) string { return strconv.FormatInt(j.JobID, 10) }},
	{"name", "j", terminal.Left("NAME"), func(j *wire.Job, _ time.Time) string { return j.Name }},
	{"user", "u", terminal.Left("USER").Down(8), func(j *wire.Job, _ time.Time) string { return j.User }},
	{"uid", "U", terminal.Right("UID"), func(j *wire.Job, _ time.Time) string { return fmt.Sprint(j.UID) }},
	{"partition", "P", terminal.Left("PARTITION"), func(j *wire.Job, _ time.Time) string { return j.Partition }},
	{"account", "a", terminal.Left("ACCOUNT"), func(j *wire.Job, _ time.Time) string { return j.Account }},
	{"qos", "q", terminal.Left("QOS"), func(j *wire.Job, _ time.Time) string { return j.QOS }},
	{"st", "t", terminal.Left("ST"), func(j *wire.Job, _ time.Time) string { return j.ST }},
	{"state", "T", terminal.Left("STATE"), func(j *wire.Job, _ time.Time) string { return j.State }},
	{"priority", "Q", terminal.Right("PRIORITY"), func(j *wire.Job, _ time.Time) string { return fmt.Sprint(j.Priority) }},
	{"gpus", "b", terminal.Left("GPUS").Down(8), func(j *wire.Job, _ time.Time) string { return GPUs(j) }},
	{"ngpus", "C", terminal.Right("NGPUS"), func(j *wire.Job, _ time.Time) string { return fmt.Sprint(j.GPUs) }},
	{"nodes", "D", terminal.Right("NODES"), func(j *wire.Job, _ time.Time) string { return fmt.Sprint(len(j.Place)) }},
	{"place", "N", terminal.Left("PLACE"), func(j *wire.Job, _ time.Time) string { return j.Place.String() }},
	{"epoch", "w", terminal.Right("EPOCH"), func(j *wire.Job, _ time.Time) string { return Work(j) }},
	{"speed", "s", terminal.Right("SPEED"), func(j *wire.Job, _ time.Time) string { return Pace(j.Seconds, j.Source, Unit(j)) }},
	{"done", "d", terminal.Right("DONE"), func(j *wire.Job, _ time.Time) string { return Done(j) }},
	{"eta", "L", terminal.Right("ETA"), eta},
	{"end", "e", terminal.Left("END_TIME"), func(j *wire.Job, _ time.Time) string { return When(j.ETA) }},
	{"time", "M", terminal.Right("TIME"), running},
	{"start", "S", terminal.Left("START_TIME"), func(j *wire.Job, _ time.Time) string { return When(j.Started) }},
	{"submit", "V", terminal.Left("SUBMIT_TIME"), func(j *wire.Job, _ time.Time) string { return When(j.Submitted) }},
	{"restarts", "n", terminal.Right("RESTARTS"), func(j *wire.Job, _ time.Time) string { return fmt.Sprint(j.Restarts) }},
	{"cost", "c", terminal.Right("COST"), func(j *wire.Job, _ time.Time) string { return Span(j.Price.Total) }},
	{"model", "m", terminal.Left("MODEL"), func(j *wire.Job, _ time.Time) string { return j.Model }},
	{"trial", "I", terminal.Left("TRIAL"), func(j *wire.Job, _ time.Time) string { return Trial(j) }},
	{"comment", "k", terminal.Left("COMMENT"), func(j *wire.Job, _ time.Time) string { return j.Comment }},
	{"token", "x", terminal.Left("TOKEN"), func(j *wire.Job, _ time.Time) string { return j.Token }},
	{"reason", "R", terminal.Left("REASON"), func(j *wire.Job, _ time.Time) string { return Reason(j) }},
}

// Formats of 'sluice queue' without --format: on a terminal with fewer than Wide columns the
// narrow one, which leaves the reason half of 80.
const (
	DefaultFormat = "jobid,name,user,st,gpus,epoch,speed,eta,reason"
	NarrowFormat  = "jobid,name,user,st,gpus,done,eta,reason"
	Wide          = 110
)

// Trial is the trial that a lane of a sweep runs, or ran last, and how good it is: "3 val_acc 0.91"; "-"
// if the job is no lane or has none yet. Of several at once: "3 val_acc 0.91, 4 0.87, 5".
func Trial(j *wire.Job) string {
	t := j.Trial
	if t == nil {
		return "-"
	}
	s := strconv.Itoa(t.Trial)
	if t.Value != nil {
		s = fmt.Sprintf("%d %s %s", t.Trial, t.Metric, Metric(*t.Value))
	}
	for _, other := range t.Beside {
		s += fmt.Sprintf(", %d", other.Trial)
		if other.Value != nil {
			s += " " + Metric(*other.Value)
		}
	}
	return s
}

// Trials lists the numbers of trials: "3, 4, 5"; "-" if there are none.
func Trials(numbers []int) string {
	if len(numbers) == 0 {
		return "-"
	}
	words := make([]string, len(numbers))
	for i, n := range numbers {
		words[i] = strconv.Itoa(n)
	}
	return strings.Join(words, ", ")
}

// Done formats done of total as "35%"; "-" if no total was declared.
func Done(j *wire.Job) string {
	if j.Total <= 0 {
		return "-"
	}
	return fmt.Sprintf("%.0f%%", 100*min(max(j.Done/j.Total, 0), 9.99))
}

func eta(j *wire.Job, at time.Time) string {
	if j.ETA.IsZero() {
		return "-"
	}
	return terminal.Clock(j.ETA.Sub(at))
}

// running is the duration of the present run, or of all runs of an ended job.
func running(j *wire.Job, at time.Time) string {
	switch {
	case j.Ended && !j.FirstRun.IsZero() && !j.EndedAt.IsZero():
		return terminal.Clock(j.EndedAt.Sub(j.FirstRun))
	case j.Ended || j.Started.IsZero():
		return "0:00"
	}
	return terminal.Clock(at.Sub(j.Started))
}

// Reason is one line: sluice's own reason, else the result of the last move, else
// Slurm's reason.
func Reason(j *wire.Job) string {
	text := j.Reason
	switch {
	case j.Move != nil && text == "":
		text = j.Move.Cause
	case text == "" && j.Last != "":
		text = j.Last
	case text == "" && j.SlurmReason != "" && j.SlurmReason != "None":
		text = j.SlurmReason
	}
	if j.Move != nil {
		text = j.Move.Doing + ": " + text
	}
	if len(j.Problems) > 0 {
		text += " (!)" // show and explain list them
	}
	return text
}
