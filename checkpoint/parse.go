package checkpoint

import (
	"encoding/json"
	"fmt"
	"math"
	"path"
	"slices"
	"strings"
)

const (
	requestWords    = "1 to 100 letters, digits and ._:-"
	checkpointWords = "8 digits"
	maxFiles        = 100_000
	maxMetrics      = 64
	maxPath         = 4096
	maxSpan         = 1e8 // seconds, three years
)

// ValidToken reports whether t can name a job's folders: 32 lower-case hex digits.
func ValidToken(t string) bool { return tokenForm.fits(t) }

// ParseRequest reads request.json. Errors are *FormatError.
func ParseRequest(data []byte) (Request, error) {
	var r Request
	if err := decodeVersioned(RequestFile, data, &r); err != nil {
		return Request{}, err
	}
	c := checker{file: RequestFile, data: data}
	c.whole("job", r.Job, 1, maxID)
	c.match("request", r.ID, requestForm, requestWords)
	c.whole("incarnation", int64(r.Incarnation), 0, maxCount)
	c.whole("restarts", int64(r.Restarts), 0, maxCount)
	c.placement("target", r.Target)
	c.moment("asked", r.Asked)
	c.moment("deadline", r.Deadline)
	if c.err != nil {
		return Request{}, c.err
	}
	r.Why = clean(r.Why, maxText)
	return r, nil
}

// ParseTarget reads target.json. Errors are *FormatError.
func ParseTarget(data []byte) (Target, error) {
	var t Target
	if err := decodeVersioned(TargetFile, data, &t); err != nil {
		return Target{}, err
	}
	c := checker{file: TargetFile, data: data}
	c.whole("job", t.Job, 1, maxID)
	c.whole("incarnation", int64(t.Incarnation), 0, maxCount)
	c.placement("split", t.Split)
	if t.Checkpoint != "" {
		c.match("checkpoint", t.Checkpoint, checkpointForm, checkpointWords)
	}
	c.whole("gpus", int64(t.GPUs), 0, maxCount)
	c.whole("largest", int64(t.Largest), 0, maxCount)
	if !typeForm.fits(t.Type) { // a run without its type is better than one without its target
		t.Type = ""
	}
	if c.err != nil {
		return Target{}, c.err
	}
	return t, nil
}

// ParseRunner reads runner.json. Texts for users become one line without control
// characters. Errors are *FormatError.
func ParseRunner(data []byte) (Runner, error) {
	var r Runner
	if err := decodeVersioned(RunnerFile, data, &r); err != nil {
		return Runner{}, err
	}
	c := checker{file: RunnerFile, data: data}
	c.whole("job", r.Job, 1, maxID)
	c.whole("restarts", int64(r.Restarts), 0, maxCount)
	c.whole("incarnation", int64(r.Incarnation), 0, maxCount)
	c.want(r.State.known(), "state", fmt.Sprintf("%q is not a state", clip(string(r.State), 80)))
	c.whole("pid", int64(r.PID), 0, maxID)
	c.placement("split", r.Split)
	if r.Resumed != "" {
		c.match("resumed", r.Resumed, checkpointForm, checkpointWords)
	}
	c.want(len(r.Skipped) <= maxSkips, "skipped", fmt.Sprintf("%d entries: at most %d", len(r.Skipped), maxSkips))
	c.moment("first_line", r.FirstLine)
	c.moment("beat", r.Beat)
	c.moment("retry_at", r.RetryAt)
	c.answer(r.Answer)
	c.exit(r.Exit)
	c.lastWords(r.LastWords)
	c.want(len(r.Output) <= maxPath && len(r.Errors) <= maxPath, "output", "longer than a path can be")
	for name, seconds := range map[string]float64{"every": r.Every, "cost": r.Cost} {
		c.want(seconds >= 0 && seconds <= maxSpan, name, fmt.Sprintf("%g: want seconds from 0 to %g", seconds, float64(maxSpan)))
	}
	c.want(r.Rhythm >= 0 && r.Rhythm <= maxSpan, "rhythm", fmt.Sprintf("%g: want seconds from 0 to %g", r.Rhythm, float64(maxSpan)))
	c.devices(r.Devices)
	if c.err != nil {
		return Runner{}, c.err
	}
	return r.cleaned(), nil
}

func (s RunnerState) known() bool {
	switch s {
	case Starting, Training, Saving, Waiting, Exited:
		return true
	}
	return false
}

func (c *checker) answer(a *Answer) {
	if a == nil {
		return
	}
	c.match("request", a.Request, requestForm, requestWords)
	if a.Checkpoint != "" {
		c.match("checkpoint", a.Checkpoint, checkpointForm, checkpointWords)
	}
	c.want(a.Checkpoint != "" || a.Error != "", "answer", "neither a checkpoint nor an error")
	c.whole("step", a.Step, 0, maxWork)
	c.number("epoch", a.Epoch)
	c.moment("committed", a.Committed)
	c.moment("verified", a.Verified)
}

func (c *checker) exit(e *Exit) {
	if e == nil {
		return
	}
	c.whole("code", int64(e.Code), 0, 255)
	c.moment("at", e.At)
}

// cleaned returns r with every free text safe to display. What r points to is copied.
func (r Runner) cleaned() Runner {
	r.Host = clean(r.Host, 255)
	r.Note = clean(r.Note, maxText)
	r.Output, r.Errors = plainPath(r.Output), plainPath(r.Errors)
	skipped := make([]string, len(r.Skipped))
	for i, s := range r.Skipped {
		skipped[i] = clean(s, maxText)
	}
	if r.Skipped != nil {
		r.Skipped = skipped
	}
	if r.Devices != nil {
		r.Devices = slices.Clone(r.Devices)
		for i, d := range r.Devices {
			r.Devices[i] = d.cleaned()
		}
	}
	if r.Answer != nil {
		a := *r.Answer
		a.Error = clean(a.Error, maxText)
		r.Answer = &a
	}
	if r.LastWords != nil {
		memory := r.LastWords.Memory
		r.LastWords = NewLastWords(r.LastWords.Why, r.LastWords.Lines)
		r.LastWords.Memory = memory
	}
	if r.Exit != nil {
		e := *r.Exit
		e.Signal = clean(e.Signal, 32)
		r.Exit = &e
	}
	return r
}

// plainPath returns an absolute path without control characters, else "".
func plainPath(p string) string {
	if !path.IsAbs(p) || clean(p, maxPath) != p {
		return ""
	}
	return p
}

// ParseProgress reads one line of progress.jsonl, without its newline. The line
// number of an error is 1. Errors are *FormatError.
func ParseProgress(line []byte) (Progress, error) {
	var p Progress
	if err := decode(ProgressFile, line, &p); err != nil {
		return Progress{}, err
	}
	var named struct {
		Epoch, Step *json.Number
	}
	_ = json.Unmarshal(line, &named) // decoded already
	p.HasEpoch, p.HasStep = named.Epoch != nil, named.Step != nil
	c := checker{file: ProgressFile, data: line}
	c.want(p.Time > 0 && p.Time < 1e11, "time", fmt.Sprintf("%g: want seconds since 1970", p.Time))
	c.whole("restarts", int64(p.Restarts), 0, maxCount)
	switch p.Event {
	case "hello", "progress", "resumed", "finished", "pace":
	default:
		c.want(false, "event", fmt.Sprintf("%q: want hello, progress, resumed, finished or pace", clip(p.Event, 80)))
	}
	c.number("done", p.Done)
	c.number("epoch", p.Epoch)
	c.whole("step", p.Step, 0, maxWork)
	c.number("seconds", p.Seconds)
	c.whole("gpus", int64(p.GPUs), 0, maxCount)
	c.whole("nodes", int64(p.Nodes), 0, maxCount)
	c.number("pace", p.Pace)
	c.whole("steps", p.Steps, 0, maxWork)
	c.want(len(p.Metric) <= maxMetrics, "metric", fmt.Sprintf("%d values: at most %d", len(p.Metric), maxMetrics))
	for name, v := range p.Metric {
		c.want(metricForm.fits(name), "metric", fmt.Sprintf("%q is not a metric's name", clip(name, 80)))
		c.want(!math.IsNaN(v) && !math.IsInf(v, 0), "metric", name+" is not a number")
	}
	c.want(len(p.NaN) <= maxMetrics, "nan", fmt.Sprintf("%d names: at most %d", len(p.NaN), maxMetrics))
	for _, name := range p.NaN {
		c.want(metricForm.fits(name), "nan", fmt.Sprintf("%q is not a metric's name", clip(name, 80)))
	}
	if c.err != nil {
		return Progress{}, c.err
	}
	return p, nil
}

// ParseManifest reads a checkpoint's manifest.json. It checks the format only;
// Series.Verify compares it with the files. Errors are *FormatError.
func ParseManifest(data []byte) (Manifest, error) {
	var m Manifest
	if err := decodeVersioned(ManifestFile, data, &m); err != nil {
		return Manifest{}, err
	}
	c := checker{file: ManifestFile, data: data}
	c.whole("job", m.Job, 1, maxID)
	c.match("token", m.Token, tokenForm, "32 lower-case hex digits")
	c.whole("restarts", int64(m.Restarts), 0, maxCount)
	c.whole("sequence", int64(m.Sequence), 1, maxSequence)
	c.whole("step", m.Step, 0, maxWork)
	c.number("epoch", m.Epoch)
	if m.Request != "" {
		c.match("request", m.Request, requestForm, requestWords)
	}
	c.moment("created", m.Created)
	c.whole("gpus", int64(m.GPUs), 0, maxCount)
	c.number("seconds", m.Seconds)
	c.files(m.Files)
	if c.err != nil {
		return Manifest{}, c.err
	}
	return m, nil
}

func (c *checker) files(files []File) {
	c.want(len(files) > 0, "files", "empty: a checkpoint has at least one file")
	c.want(len(files) <= maxFiles, "files", fmt.Sprintf("%d: at most %d", len(files), maxFiles))
	seen := make(map[string]bool, len(files))
	for _, f := range files {
		c.want(validPath(f.Path), "files", fmt.Sprintf("%q is not a path inside the checkpoint", clip(f.Path, 80)))
		c.want(!seen[f.Path], "files", fmt.Sprintf("%q twice", clip(f.Path, 80)))
		c.want(f.Size >= 0, "files", fmt.Sprintf("%q has %d bytes", clip(f.Path, 80), f.Size))
		c.want(sumForm.fits(f.SHA256), "files", fmt.Sprintf("%q: sha256: want 64 lower-case hex digits", clip(f.Path, 80)))
		if c.err != nil {
			return
		}
		seen[f.Path] = true
	}
}

// validPath reports whether p is a clean relative path that stays inside the
// checkpoint and is not the manifest itself.
func validPath(p string) bool {
	if p == "" || p == "." || len(p) > 4096 || path.IsAbs(p) || path.Clean(p) != p || p == ManifestFile {
		return false
	}
	if p == ".." || strings.HasPrefix(p, "../") || strings.ContainsRune(p, 0) {
		return false
	}
	return strings.Count(p, "/") < 32
}
