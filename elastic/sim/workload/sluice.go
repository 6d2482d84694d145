package workload

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/sluice-hpc/sluice/elastic"
)

// The project's own format is a file of JSON lines. The first is the header, every
// other one a job:
//
//	{"sluice_workload":1,"name":"w1","seed":3,"note":"...","jobs":2}
//	{"name":"a","submit_s":0,"min":1,"total":90,"model":"resnet50","asked":1,"parametric":{"one_s":45,"serial":0.025}}
//	{"name":"b","submit_s":60.5,"min":1,"max":4,"total":10,"table":{"1":30,"2":16,"4":9,"2+2":11}}
//
// A job has one of "parametric" (Parametric), "assumed" (Assumed) and "table"
// (SplitTable: the GPUs on each node, joined by "+", and the seconds of a unit).
// All other keys but name, submit_s, min and total may be left out.

const (
	sluiceVersion = 1
	maxLine       = 1 << 20 // bytes of a line of any recording
	maxWorkload   = 4 << 30 // bytes of a file
	maxName       = 256     // bytes of a job's or user's name
)

type sluiceHeader struct {
	Version int    `json:"sluice_workload"`
	Name    string `json:"name"`
	Seed    uint64 `json:"seed"`
	Note    string `json:"note,omitempty"`
	Jobs    int    `json:"jobs"`
}

type sluiceJob struct {
	Name     string  `json:"name"`
	User     string  `json:"user,omitempty"`
	Account  string  `json:"account,omitempty"`
	Submit   seconds `json:"submit_s"`
	Min      int     `json:"min"`
	Max      int     `json:"max,omitempty"`
	Step     int     `json:"step,omitempty"`
	Sizes    []int   `json:"sizes,omitempty"`
	Uneven   bool    `json:"uneven,omitempty"`
	Total    float64 `json:"total"`
	Unit     string  `json:"unit,omitempty"`
	Model    string  `json:"model,omitempty"`
	Signal   string  `json:"signal,omitempty"`
	Grace    seconds `json:"grace_s,omitempty"`
	CPUs     int     `json:"cpus_per_gpu,omitempty"`
	MemMB    int64   `json:"mem_per_gpu_mb,omitempty"`
	Asked    int     `json:"asked,omitempty"`
	Deadline seconds `json:"deadline_s,omitempty"`

	Parametric *sluiceParametric  `json:"parametric,omitempty"`
	Assumed    *sluiceAssumed     `json:"assumed,omitempty"`
	Table      map[string]float64 `json:"table,omitempty"`
}

type sluiceParametric struct {
	One     float64 `json:"one_s"`
	Serial  float64 `json:"serial,omitempty"`
	PerGPU  float64 `json:"per_gpu,omitempty"`
	PerNode float64 `json:"per_node,omitempty"`
	Power   float64 `json:"power,omitempty"`
}

type sluiceAssumed struct {
	Unit      float64 `json:"unit_s"`
	Reference int     `json:"gpus,omitempty"`
	Nodes     int     `json:"nodes,omitempty"`
	Serial    float64 `json:"serial,omitempty"`
	PerNode   float64 `json:"per_node,omitempty"`
}

// WriteSluice writes the workload in the project's own format; ReadSluice gives
// the same workload back. Speeds must be a Parametric, an Assumed or a *SplitTable:
// measured profiles stay where they are published.
func WriteSluice(w io.Writer, wl Workload) error {
	buf := bufio.NewWriterSize(w, 1<<16)
	enc := json.NewEncoder(buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(sluiceHeader{sluiceVersion, wl.Name, wl.Seed, wl.Note, wl.Count}); err != nil {
		return err
	}
	n := 0
	for j := range wl.Jobs {
		line, err := fromJob(j)
		if err == nil {
			err = enc.Encode(line)
		}
		if err != nil {
			return fmt.Errorf("workload %s, job %q: %w", wl.Name, j.Name, err)
		}
		n++
	}
	if n != wl.Count {
		return fmt.Errorf("workload %s has %d jobs and says %d", wl.Name, n, wl.Count)
	}
	return buf.Flush()
}

func fromJob(j Job) (sluiceJob, error) {
	s := j.Spec
	out := sluiceJob{
		Name: j.Name, User: j.User, Account: j.Account, Submit: seconds(j.Submit), Min: s.Min, Max: s.Max, Step: s.Step, Sizes: s.Sizes, Uneven: s.AllowUneven,
		Total: s.Total, Unit: string(s.Unit), Model: s.Model, Signal: s.Signal, Grace: seconds(s.Grace),
		CPUs: s.CPUsPerGPU, MemMB: s.MemPerGPUMB, Asked: j.Asked, Deadline: seconds(j.Deadline),
	}
	switch v := j.Speeds.(type) {
	case Parametric:
		p := sluiceParametric(v)
		out.Parametric = &p
	case Assumed:
		a := sluiceAssumed(v)
		out.Assumed = &a
	case *SplitTable:
		out.Table = v.at
	default:
		return sluiceJob{}, fmt.Errorf("its speeds are a %T, which this format does not hold; want a formula, an assumption or a table of splits", v)
	}
	return out, nil
}

// ReadSluice reads a workload in the project's own format. Every job is checked
// as it would be at submit. The error names file, line and column.
func ReadSluice(path string) (Workload, error) {
	f, err := os.Open(path)
	if err != nil {
		return Workload{}, err
	}
	defer f.Close()
	return DecodeSluice(f, path)
}

// DecodeSluice is ReadSluice of a stream; name is what errors call it. It reads at
// most 4 GiB, lines of at most 1 MiB and MaxJobs jobs.
func DecodeSluice(r io.Reader, name string) (Workload, error) {
	d := &sluiceReader{in: newLines(r, name), names: map[string]bool{}, pools: newPools()}
	h, err := d.header()
	if err != nil {
		return Workload{}, err
	}
	jobs := make([]Job, 0, min(h.Jobs, 1<<16))
	for {
		line, err := d.in.next()
		if err == io.EOF {
			break
		}
		if err != nil {
			return Workload{}, err
		}
		if len(jobs) == h.Jobs {
			return Workload{}, d.in.fail(1, "there are more jobs than the %d of the first line", h.Jobs)
		}
		j, err := d.job(line)
		if err != nil {
			return Workload{}, err
		}
		jobs = append(jobs, j)
	}
	if len(jobs) < h.Jobs {
		return Workload{}, d.in.fail(1, "the file ends after %d of the %d jobs of its first line; it seems to be cut", len(jobs), h.Jobs)
	}
	return Workload{Name: h.Name, Seed: h.Seed, Note: h.Note, Count: len(jobs), Jobs: slices.Values(jobs)}, nil
}

// sluiceReader reads one file.
type sluiceReader struct {
	in    *lines
	names map[string]bool
	last  time.Duration
	pools pools
}

func (d *sluiceReader) header() (sluiceHeader, error) {
	line, err := d.in.next()
	if err == io.EOF {
		return sluiceHeader{}, d.in.fail(1, `the file is empty; want a first line such as {"sluice_workload":1,"name":"mine","jobs":20}`)
	}
	if err != nil {
		return sluiceHeader{}, err
	}
	h := sluiceHeader{}
	if err := d.in.decode(line, &h); err != nil {
		return h, err
	}
	switch {
	case h.Version != sluiceVersion:
		return h, d.in.failAt(line, "sluice_workload", `"sluice_workload":%d: want %d; is this a sluice workload?`, h.Version, sluiceVersion)
	case h.Name == "" || len(h.Name) > maxName:
		return h, d.in.failAt(line, "name", "the workload needs a name of at most %d bytes", maxName)
	case h.Jobs < 0 || h.Jobs > MaxJobs:
		return h, d.in.failAt(line, "jobs", "%d jobs: want 0 to %d", h.Jobs, MaxJobs)
	}
	return h, nil
}

// job reads and checks one line.
func (d *sluiceReader) job(line []byte) (Job, error) {
	var in sluiceJob
	if err := d.in.decode(line, &in); err != nil {
		return Job{}, err
	}
	j := Job{
		Name: in.Name, User: d.pools.text(in.User), Account: d.pools.text(in.Account), Submit: time.Duration(in.Submit), Asked: in.Asked, Deadline: time.Duration(in.Deadline),
		Spec: elastic.Spec{
			Min: in.Min, Max: in.Max, Step: in.Step, Sizes: d.pools.sizes(in.Sizes), AllowUneven: in.Uneven, Total: in.Total,
			Unit: elastic.Unit(d.pools.text(in.Unit)), Model: d.pools.text(in.Model), Signal: d.pools.text(in.Signal),
			Grace: time.Duration(in.Grace), CPUsPerGPU: in.CPUs, MemPerGPUMB: in.MemMB,
		},
	}
	if key, err := d.check(j); err != nil {
		return Job{}, d.in.failAt(line, key, "job %q: %v", cutName(j.Name), err)
	}
	speeds, key, err := in.speeds(d.pools)
	if err != nil {
		return Job{}, d.in.failAt(line, key, "job %q: %v", cutName(j.Name), err)
	}
	j.Speeds, d.last, d.names[j.Name] = speeds, j.Submit, true
	return j, nil
}

// speeds returns the one kind of speeds the job has, or the key that is wrong.
func (in sluiceJob) speeds(p pools) (Speeds, string, error) {
	given := 0
	for _, is := range []bool{in.Parametric != nil, in.Assumed != nil, in.Table != nil} {
		if is {
			given++
		}
	}
	switch {
	case given != 1:
		return nil, "", fmt.Errorf("want one of parametric, assumed and table, got %d of them", given)
	case in.Parametric != nil:
		v := Parametric(*in.Parametric)
		return p.speeds(v), "parametric", v.Check()
	case in.Assumed != nil:
		v := Assumed(*in.Assumed)
		return p.speeds(v), "assumed", v.Validate()
	}
	t, err := NewSplitTable(in.Table)
	if err != nil {
		return nil, "table", err
	}
	return p.table(t), "table", nil
}

// check reports what is wrong with a job beside its speeds, and under which key.
func (d *sluiceReader) check(j Job) (key string, err error) {
	switch {
	case j.Name == "" || len(j.Name) > maxName:
		return "name", fmt.Errorf("a job needs a name of at most %d bytes", maxName)
	case d.names[j.Name]:
		return "name", fmt.Errorf("the name comes twice")
	case len(j.User) > maxName:
		return "user", fmt.Errorf("a user's name has at most %d bytes", maxName)
	case len(j.Account) > maxName:
		return "account", fmt.Errorf("an account's name has at most %d bytes", maxName)
	case j.Submit < d.last:
		return "submit_s", fmt.Errorf("comes at %v, before the job on the line above (%v); sort the jobs by submit_s", j.Submit, d.last)
	case j.Spec.Total == 0:
		return "total", fmt.Errorf("no work: total must be above 0")
	case j.Asked < 0 || j.Asked > 1_000_000:
		return "asked", fmt.Errorf("asked %d: want 0 to 1000000", j.Asked)
	}
	spec := j.Spec
	spec.Token = strings.Repeat("0", 32)
	if err := spec.Validate(); err != nil {
		return keyOfOption(err)
	}
	return "", nil
}

// optionKeys are the keys for what a spec calls by the options of submit.
var optionKeys = []struct{ option, key string }{
	{"--min-gpus", "min"},
	{"--max-gpus", "max"},
	{"--epochs/--steps", "total"},
	{"unit", "unit"},
	{"--model", "model"},
	{"--checkpoint-signal", "signal"},
	{"--grace", "grace_s"},
	{"--cpus-per-gpu", "cpus_per_gpu"},
	{"--mem-per-gpu", "mem_per_gpu_mb"},
	{"--gpu-step", "step"},
	{"--gpu-sizes", "sizes"},
}

// keyOfOption says a spec's error in the words of the file.
func keyOfOption(err error) (string, error) {
	text, key := err.Error(), ""
	for _, o := range optionKeys {
		if key == "" && strings.HasPrefix(text, o.option) {
			key = o.key
		}
		text = strings.ReplaceAll(text, o.option, o.key)
	}
	return key, fmt.Errorf("%s", text)
}
