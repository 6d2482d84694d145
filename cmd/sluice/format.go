package main

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/sluice-hpc/sluice/cmd/terminal"
	"github.com/sluice-hpc/sluice/elastic/control/wire"
)

// field is one value that queue can show of a job.
type field struct {
	name   string // for -o NAME,NAME
	letter string // for -o "%L"; squeue's letter if it has one
	terminal.Column
	cell func(j *wire.Job, at time.Time) string
}

// fields is the table of all that queue can show.
var fields = []field{
	{"jobid", "i", terminal.Right("JOBID"), func(j *wire.Job, _ time.Time) string { return strconv.FormatInt(j.JobID, 10) }},
	{"name", "j", terminal.Left("NAME"), func(j *wire.Job, _ time.Time) string { return j.Name }},
	{"user", "u", terminal.Left("USER"), func(j *wire.Job, _ time.Time) string { return j.User }},
	{"uid", "U", terminal.Right("UID"), func(j *wire.Job, _ time.Time) string { return fmt.Sprint(j.UID) }},
	{"partition", "P", terminal.Left("PARTITION"), func(j *wire.Job, _ time.Time) string { return j.Partition }},
	{"account", "a", terminal.Left("ACCOUNT"), func(j *wire.Job, _ time.Time) string { return j.Account }},
	{"qos", "q", terminal.Left("QOS"), func(j *wire.Job, _ time.Time) string { return j.QOS }},
	{"st", "t", terminal.Left("ST"), func(j *wire.Job, _ time.Time) string { return j.ST }},
	{"state", "T", terminal.Left("STATE"), func(j *wire.Job, _ time.Time) string { return j.State }},
	{"priority", "Q", terminal.Right("PRIORITY"), func(j *wire.Job, _ time.Time) string { return fmt.Sprint(j.Priority) }},
	{"gpus", "b", terminal.Left("GPUS"), func(j *wire.Job, _ time.Time) string { return gpus(j) }},
	{"ngpus", "C", terminal.Right("NGPUS"), func(j *wire.Job, _ time.Time) string { return fmt.Sprint(j.GPUs) }},
	{"nodes", "D", terminal.Right("NODES"), func(j *wire.Job, _ time.Time) string { return fmt.Sprint(len(j.Place)) }},
	{"place", "N", terminal.Left("PLACE"), func(j *wire.Job, _ time.Time) string { return j.Place.String() }},
	{"epoch", "w", terminal.Right("EPOCH"), func(j *wire.Job, _ time.Time) string { return work(j) }},
	{"speed", "s", terminal.Right("SPEED"), func(j *wire.Job, _ time.Time) string { return pace(j.Seconds, j.Source, unit(j)) }},
	{"eta", "L", terminal.Right("ETA"), eta},
	{"end", "e", terminal.Left("END_TIME"), func(j *wire.Job, _ time.Time) string { return when(j.ETA) }},
	{"time", "M", terminal.Right("TIME"), running},
	{"start", "S", terminal.Left("START_TIME"), func(j *wire.Job, _ time.Time) string { return when(j.Started) }},
	{"submit", "V", terminal.Left("SUBMIT_TIME"), func(j *wire.Job, _ time.Time) string { return when(j.Submitted) }},
	{"restarts", "n", terminal.Right("RESTARTS"), func(j *wire.Job, _ time.Time) string { return fmt.Sprint(j.Restarts) }},
	{"cost", "c", terminal.Right("COST"), func(j *wire.Job, _ time.Time) string { return span(j.Price.Total) }},
	{"model", "m", terminal.Left("MODEL"), func(j *wire.Job, _ time.Time) string { return j.Model }},
	{"comment", "k", terminal.Left("COMMENT"), func(j *wire.Job, _ time.Time) string { return j.Comment }},
	{"token", "x", terminal.Left("TOKEN"), func(j *wire.Job, _ time.Time) string { return j.Token }},
	{"reason", "R", terminal.Left("REASON"), func(j *wire.Job, _ time.Time) string { return reasonOf(j) }},
}

// defaultFormat is the default of queue.
const defaultFormat = "jobid,name,user,st,gpus,epoch,speed,eta,reason"

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

// reasonOf is one line: sluice's own reason, else the result of the last move, else
// Slurm's reason.
func reasonOf(j *wire.Job) string {
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

var directive = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`%(\.?)(\d*)(.)`) })

// layout is a parsed format.
type layout struct {
	fields  []field
	between []string // see table; nil = aligned columns
}

// parseFormat parses -o: names separated by commas, or squeue's "%[.][width]letter" with
// any text between. A dot aligns to the right.
func parseFormat(format string) (layout, error) {
	if format == "" {
		format = defaultFormat
	}
	if strings.Contains(format, "%") {
		return parseLetters(format)
	}
	var out layout
	for name := range strings.SplitSeq(format, ",") {
		name = strings.ToLower(strings.TrimSpace(name))
		f, ok := findField(func(f field) bool { return f.name == name })
		if !ok {
			return layout{}, fmt.Errorf("invalid field %q in --format: there are %s", name, fieldNames())
		}
		out.fields = append(out.fields, f)
	}
	return out, nil
}

func parseLetters(format string) (layout, error) {
	var out layout
	last := 0
	for _, at := range directive().FindAllStringSubmatchIndex(format, -1) {
		m := directive().FindStringSubmatch(format[at[0]:at[1]])
		f, ok := findField(func(f field) bool { return f.letter == m[3] })
		width, err := strconv.Atoi(m[2])
		if !ok || m[2] != "" && (err != nil || width < 1 || width > 1000) {
			return layout{}, badFormat(format[at[0]:])
		}
		f.Right, f.Width = m[1] == ".", width
		out.fields = append(out.fields, f)
		out.between = append(out.between, format[last:at[0]])
		last = at[1]
	}
	out.between = append(out.between, format[last:])
	for _, text := range out.between {
		if at := strings.Index(text, "%"); at >= 0 {
			return layout{}, badFormat(text[at:])
		}
		if terminal.Escape(text) != text {
			return layout{}, fmt.Errorf("invalid --format: control characters")
		}
	}
	return out, nil
}

func badFormat(at string) error {
	return fmt.Errorf("invalid --format at %q: want %%[.][width]letter with one of %s", terminal.Cut(at, 10), fieldLetters())
}

func findField(is func(field) bool) (field, bool) {
	for _, f := range fields {
		if is(f) {
			return f, true
		}
	}
	return field{}, false
}

func fieldNames() string {
	names := make([]string, len(fields))
	for i, f := range fields {
		names[i] = f.name
	}
	return strings.Join(names, ", ")
}

func fieldLetters() string {
	var b strings.Builder
	for _, f := range fields {
		b.WriteString(f.letter)
	}
	return b.String()
}

// formatHelp lists the fields for the help text.
func formatHelp() string {
	var b strings.Builder
	b.WriteString("Fields for --format, by name or by letter:\n")
	for i, f := range fields {
		if i%4 == 0 {
			b.WriteString("\n  ")
		}
		fmt.Fprintf(&b, "%-16s", fmt.Sprintf("%%%s %s", f.letter, f.name))
	}
	return b.String()
}
