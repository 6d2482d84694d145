package workload

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"path/filepath"
	"time"

	"github.com/sluice-hpc/sluice/elastic"
)

// ReadElasticFlow reads a trace of the ElasticFlow artefact (Gu et al., ASPLOS
// 2023; microsoft/elasticflow-traces): columns job_id, submission_time or
// submit_time (s), num_iteration or iteration, model_name, deadline or ddl
// (absolute s), batch_size and num_gpu, in either spelling, with the throughputs
// of the models in a directory, one MODEL.csv each: a row a global batch size, a
// column a number of GPUs, iterations/s in the cells. Where a cell is empty, nan
// or 0 the job cannot run; speed depends on the number of GPUs only. A unit of
// work is an iteration, times count from the first submit.
func ReadElasticFlow(path, throughputs string) (Workload, error) {
	t, err := readTable(path, traceColumns...)
	if err != nil {
		return Workload{}, fmt.Errorf("workload: %w", err)
	}
	known := throughputTables{dir: throughputs, read: map[string]map[int]*Throughput{}}
	var jobs []Job
	for t.next() {
		job, err := traceJob(t, known)
		if t.err == nil && err != nil {
			return Workload{}, fmt.Errorf("workload: %s:%d: %w", path, t.line(), err)
		}
		jobs = append(jobs, job)
	}
	if t.err != nil {
		return Workload{}, fmt.Errorf("workload: %w", t.err)
	}
	shiftToStart(jobs)
	return recorded(base(path), "ElasticFlow trace "+filepath.Base(path)+
		": measured throughputs, fixed global batch, speed by the number of GPUs", jobs), nil
}

var traceColumns = []string{
	"job_id", "submit_time|submission_time", "iteration|num_iteration", "model_name",
	"ddl|deadline", "batch_size", "num_gpu",
}

// maxIterations bounds a job's work.
const maxIterations = 1e12

func traceJob(t *table, known throughputTables) (Job, error) {
	submit := t.seconds(traceColumns[1])
	due := t.seconds(traceColumns[4])
	if due <= submit {
		t.bad(traceColumns[4], "want a time after the job's submit")
	}
	iterations := t.number(traceColumns[2], 1, maxIterations)
	batch, asked := t.whole("batch_size", 1, maxBatch), t.whole("num_gpu", 1, wideGPUs)
	job := Job{Name: t.text("job_id"), Submit: submit, Deadline: due}
	if t.err != nil {
		return job, t.err
	}
	model := t.text("model_name")
	speeds, err := known.find(model, batch)
	if err != nil {
		return job, err
	}
	name := fmt.Sprintf("%s-%d", model, batch)
	if !elastic.ValidModel(name) {
		return job, fmt.Errorf("model %q cannot be a name: want letters, digits and . _ + - / : @", cut(model))
	}
	job.Speeds, job.Asked = speeds, speeds.below(asked)
	job.Spec = elastic.Spec{
		Min: speeds.sizes[0], Max: speeds.sizes[len(speeds.sizes)-1], Sizes: speeds.Sizes(), AllowUneven: true,
		Total: iterations, Unit: elastic.Steps, Model: name,
	}
	return job, nil
}

// shiftToStart makes the first submit 0.
func shiftToStart(jobs []Job) {
	first := time.Duration(math.MaxInt64)
	for _, j := range jobs {
		first = min(first, j.Submit)
	}
	for i := range jobs {
		jobs[i].Submit -= first
		jobs[i].Deadline -= first
	}
}

// throughputTables reads the tables of a directory as they are needed.
type throughputTables struct {
	dir  string
	read map[string]map[int]*Throughput
}

func (k throughputTables) find(model string, batch int) (*Throughput, error) {
	rows, ok := k.read[model]
	if !ok {
		if model == "" || model != filepath.Base(model) || model == "." || model == ".." {
			return nil, fmt.Errorf("model %q: want the name of a file in %s without .csv", cut(model), k.dir)
		}
		var err error
		rows, err = readThroughputs(filepath.Join(k.dir, model+".csv"))
		if errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("model %q: %w; give the directory that holds MODEL.csv, of the GPUs you mean", cut(model), err)
		}
		if err != nil {
			return nil, err
		}
		k.read[model] = rows
	}
	if rows[batch] == nil {
		return nil, fmt.Errorf("model %q has no row for global batch %d in %s", cut(model), batch, filepath.Join(k.dir, model+".csv"))
	}
	return rows[batch], nil
}
