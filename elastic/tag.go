package elastic

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// tagVersion begins the comment of every job that sluice manages.
const tagVersion = "sluice/1"

// MaxComment is how many bytes Slurm keeps of a job's comment.
const MaxComment = 1024

// maxMoves bounds Tag.Incarnation.
const maxMoves = 1_000_000_000

// maxPartition bounds the bytes of Tag.Partition.
const maxPartition = 256

// Directive is a user's standing order about one job.
type Directive struct {
	Pin  int  // GPUs the job is pinned to; 0 = sluice decides
	Hold bool // do not start the job (again) until released
}

// Tag is what sluice writes into a job's Slurm comment: enough to manage the job with nothing
// else left.
type Tag struct {
	Spec        Spec
	Incarnation int // number of moves so far: 0 at submission
	Directive   Directive
	// Partition is the one of several partitions that sluice gave Slurm for this incarnation;
	// "" = Slurm has them all.
	Partition string
	// Deferred: it waits by a begin time. A job without it was handed in by an older sluice,
	// which held waiting jobs.
	Deferred bool
	// Begin is the begin time that its user gave it; zero = none. SbatchBegin: it is the begin
	// time that Slurm shows, which sluice has not changed yet.
	Begin       time.Time
	SbatchBegin bool
	// Own: its user's own sluiced ('sluiced --user') manages it, not the cluster's.
	Own bool
	// For is the user that a confined job belongs to; "" = it is none. It counts in jobs of the service
	// account alone.
	For     string  `json:",omitempty"`
	Notices Notices `json:",omitzero"`
	Comment string  // the user's own comment
}

// String returns the tag as "sluice/1 key=value ... ; user's comment". Keys with their zero
// value are left out, and the order is fixed.
func (t Tag) String() string {
	var b strings.Builder
	b.WriteString(tagVersion)
	put := func(key, value string) { b.WriteString(" " + key + "=" + value) }
	number := func(key string, n int) {
		if n != 0 {
			put(key, strconv.Itoa(n))
		}
	}
	text := func(key, value string) {
		if value != "" {
			put(key, value)
		}
	}
	s := t.Spec
	put("id", s.Token)
	put("inc", strconv.Itoa(t.Incarnation))
	put("min", strconv.Itoa(s.Min))
	number("max", s.Max)
	number("step", s.Step)
	if len(s.Sizes) > 0 {
		put("sizes", joinInts(s.Sizes))
	}
	if s.AllowUneven {
		put("uneven", "1")
	}
	if s.Total > 0 {
		put("total", strconv.FormatFloat(s.Total, 'g', -1, 64))
	}
	if !s.Deadline.IsZero() {
		put("due", strconv.FormatInt(s.Deadline.Unix(), 10))
	}
	if s.Soft {
		put("soft", "1")
	}
	text("unit", string(s.Unit))
	text("model", s.Model)
	text("signal", s.Signal)
	if s.Grace > 0 {
		put("grace", s.Grace.String())
	}
	if s.Habit {
		put("habit", "1")
	}
	if s.Again {
		put("again", "1")
	}
	if len(s.Profile) > 0 {
		put("profile", joinInts(s.Profile))
	}
	text("script", s.Script)
	if s.Array.Is() {
		put("array", s.Array.String())
	}
	text("sweep", s.Sweep)
	number("nodes", s.Nodes)
	text("types", strings.Join(s.Types, ","))
	number("cpus", s.CPUsPerGPU)
	number("mem", int(s.MemPerGPUMB))
	number("pin", t.Directive.Pin)
	if t.Directive.Hold {
		put("hold", "1")
	}
	if t.Own {
		put("own", "1")
	}
	text("for", t.For)
	if t.Deferred {
		put("defer", "1")
	}
	switch {
	case t.SbatchBegin:
		put("begin", beginOfSbatch)
	case !t.Begin.IsZero():
		put("begin", strconv.FormatInt(t.Begin.Unix(), 10))
	}
	text("part", t.Partition)
	text("mail", t.Notices.mails())
	text("notify", t.Notices.channels())
	text("mailto", t.Notices.To)
	if t.Comment != "" {
		b.WriteString(" ; " + t.Comment)
	}
	return b.String()
}

// Equal reports whether two tags are the same in every field.
func (t Tag) Equal(u Tag) bool {
	s, v := &t.Spec, &u.Spec
	return t.Incarnation == u.Incarnation && t.Directive == u.Directive && t.Partition == u.Partition && t.Own == u.Own && t.For == u.For && t.Comment == u.Comment && t.Notices == u.Notices &&
		t.Deferred == u.Deferred && t.SbatchBegin == u.SbatchBegin && t.Begin.Equal(u.Begin) &&
		s.Token == v.Token && s.Min == v.Min && s.Max == v.Max && s.Step == v.Step && slices.Equal(s.Sizes, v.Sizes) && s.AllowUneven == v.AllowUneven &&
		s.Deadline.Equal(v.Deadline) && s.Soft == v.Soft && s.Total == v.Total && s.Unit == v.Unit && s.Model == v.Model && s.Signal == v.Signal && s.Grace == v.Grace &&
		s.Habit == v.Habit && s.Again == v.Again && slices.Equal(s.Profile, v.Profile) && s.Script == v.Script && s.Array == v.Array && s.Sweep == v.Sweep && s.Nodes == v.Nodes &&
		slices.Equal(s.Types, v.Types) && s.CPUsPerGPU == v.CPUsPerGPU && s.MemPerGPUMB == v.MemPerGPUMB
}

// Tagged reports whether a Slurm comment begins as one of sluice. Such a comment may still fail
// to parse.
func Tagged(comment string) bool {
	return comment == tagVersion || strings.HasPrefix(comment, tagVersion+" ")
}

// Own reports whether a comment says that its user's own sluiced manages the job, even if the
// rest of it cannot be parsed.
func Own(comment string) bool {
	fields, _, _ := strings.Cut(comment, " ; ")
	return Tagged(comment) && strings.Contains(fields+" ", " own=1 ")
}

// ParseTag parses a comment written by String. Users can change comments: anything out of
// range, repeated or unknown is an error that names the column.
func ParseTag(comment string) (Tag, error) {
	if !Tagged(comment) {
		return Tag{}, fmt.Errorf("not a sluice comment: want %q at column 1", tagVersion)
	}
	var t Tag
	rest := comment[len(tagVersion):]
	if fields, own, found := strings.Cut(rest, " ; "); found {
		rest, t.Comment = fields, own
	}
	if len(rest) > 4096 {
		return Tag{}, fmt.Errorf("column 4097: sluice part of the comment longer than 4096 bytes")
	}
	seen := map[string]bool{}
	column := len(tagVersion) + 1
	for _, field := range strings.Split(rest, " ") {
		start := column
		column += len(field) + 1
		if field == "" {
			continue
		}
		key, value, found := strings.Cut(field, "=")
		if !found || seen[key] {
			return Tag{}, fmt.Errorf("column %d: %q: want key=value, each key once", start, field)
		}
		seen[key] = true
		if err := t.set(key, value); err != nil {
			return Tag{}, fmt.Errorf("column %d: %w", start, err)
		}
	}
	if err := t.Spec.Validate(); err != nil {
		return Tag{}, fmt.Errorf("column %d: %w", len(tagVersion)+2, err)
	}
	return t, nil
}

// set stores one key. Unknown keys are refused, because the meaning that a newer sluice gave
// them must not be lost.
func (t *Tag) set(key, value string) (err error) {
	s := &t.Spec
	switch key {
	case "id":
		s.Token = value
	case "inc":
		t.Incarnation, err = natural(key, value, maxMoves)
	case "min":
		s.Min, err = natural(key, value, maxCount)
	case "max":
		s.Max, err = natural(key, value, maxCount)
	case "step":
		s.Step, err = natural(key, value, maxCount)
	case "sizes":
		s.Sizes, err = splitInts(value)
	case "uneven":
		s.AllowUneven, err = flag(key, value)
	case "total":
		if s.Total, err = strconv.ParseFloat(value, 64); err != nil {
			err = fmt.Errorf("%s=%q: want a number", key, value)
		}
	case "due":
		var due int
		due, err = natural(key, value, maxDeadline)
		s.Deadline = time.Unix(int64(due), 0).UTC()
	case "soft":
		s.Soft, err = flag(key, value)
	case "unit":
		s.Unit = Unit(value)
	case "model":
		s.Model = value
	case "signal":
		s.Signal = value
	case "grace":
		if s.Grace, err = time.ParseDuration(value); err != nil {
			err = fmt.Errorf("%s=%q: want a duration such as 90s", key, value)
		}
	case "habit":
		s.Habit, err = flag(key, value)
	case "again":
		s.Again, err = flag(key, value)
	case "profile":
		s.Profile, err = splitInts(value)
	case "script":
		s.Script = value
	case "array":
		s.Array, err = parseArray(value)
	case "sweep":
		s.Sweep = value
	case "types":
		s.Types = strings.Split(value, ",")
	case "nodes":
		s.Nodes, err = natural(key, value, maxCount)
	case "cpus":
		s.CPUsPerGPU, err = natural(key, value, maxCount)
	case "mem":
		var mb int
		mb, err = natural(key, value, maxMemMB)
		s.MemPerGPUMB = int64(mb)
	case "pin":
		t.Directive.Pin, err = natural(key, value, maxCount)
	case "hold":
		t.Directive.Hold, err = flag(key, value)
	case "part":
		if t.Partition = value; len(value) > maxPartition {
			err = fmt.Errorf("part=%q: want the name of one partition, %d bytes at most", value, maxPartition)
		}
	case "defer":
		t.Deferred, err = flag(key, value)
	case "begin":
		err = t.setBegin(key, value)
	case "own":
		t.Own, err = flag(key, value)
	case "for":
		if t.For = value; !UserName(value) {
			err = fmt.Errorf("for=%q: want the name of a user", value)
		}
	case "mail", "notify", "mailto":
		err = t.Notices.set(key, value)
	default:
		err = fmt.Errorf("unknown key %q", key)
	}
	return err
}

// beginOfSbatch is the value of begin while the begin time is known to Slurm only.
const beginOfSbatch = "sbatch"

func (t *Tag) setBegin(key, value string) error {
	if value == beginOfSbatch {
		t.SbatchBegin = true
		return nil
	}
	at, err := natural(key, value, maxDeadline)
	if err == nil && at > 0 {
		t.Begin = time.Unix(int64(at), 0).UTC()
	}
	return err
}

func natural(key, value string, max int) (int, error) {
	n, err := strconv.Atoi(value)
	if err != nil || n < 0 || n > max {
		return 0, fmt.Errorf("%s=%q: want a whole number from 0 to %d", key, value, max)
	}
	return n, nil
}

func flag(key, value string) (bool, error) {
	if value != "1" {
		return false, fmt.Errorf("%s=%q: want 1", key, value)
	}
	return true, nil
}

func joinInts(ns []int) string {
	parts := make([]string, len(ns))
	for i, n := range ns {
		parts[i] = strconv.Itoa(n)
	}
	return strings.Join(parts, ",")
}

func splitInts(value string) ([]int, error) {
	parts := strings.Split(value, ",")
	if len(parts) > maxSizes {
		return nil, fmt.Errorf("sizes: more than %d", maxSizes)
	}
	out := make([]int, len(parts))
	for i, p := range parts {
		n, err := natural("sizes", p, maxCount)
		if err != nil {
			return nil, err
		}
		out[i] = n
	}
	return out, nil
}
