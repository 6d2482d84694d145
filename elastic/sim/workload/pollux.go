package workload

import (
	"fmt"
	"path/filepath"
	"strings"

	"github.com/sluice-hpc/sluice/elastic"
)

// PolluxGPUs is the most GPUs the Pollux simulator gives a job.
const PolluxGPUs = 64

// ReadPollux reads a workload of the Pollux artefact (Qiao et al., OSDI 2021,
// simulator/workloads): columns name, time (s), application, num_replicas and
// batch_size, with measured speeds of the applications in the directory profiles.
// See OpenProfiles.
func ReadPollux(path, profiles string) (Workload, error) {
	known, err := OpenProfiles(profiles)
	if err != nil {
		return Workload{}, err
	}
	return ReadPolluxWith(path, known)
}

// ReadPolluxWith is ReadPollux for profiles that are open already.
func ReadPolluxWith(path string, profiles *Profiles) (Workload, error) {
	t, err := readTable(path, "name", "time", "application", "num_replicas", "batch_size")
	if err != nil {
		return Workload{}, fmt.Errorf("workload: %w", err)
	}
	var jobs []Job
	for t.next() {
		job, err := polluxJob(t, profiles)
		if t.err == nil && err != nil {
			return Workload{}, fmt.Errorf("workload: %s:%d: %w", path, t.line(), err)
		}
		jobs = append(jobs, job)
	}
	if t.err != nil {
		return Workload{}, fmt.Errorf("workload: %w", t.err)
	}
	return recorded(base(path), "Pollux workload "+filepath.Base(path)+
		": measured step times, fixed global batch, epochs of equal length", jobs), nil
}

func polluxJob(t *table, profiles *Profiles) (Job, error) {
	application, batch := t.text("application"), t.whole("batch_size", 1, maxBatch)
	job := Job{Name: t.text("name"), Submit: t.seconds("time"), Asked: t.whole("num_replicas", 1, wideGPUs)}
	if t.err != nil {
		return job, t.err
	}
	speeds, err := profiles.Speeds(application, batch)
	if err != nil {
		return job, err
	}
	most := min(PolluxGPUs, speeds.MaxGPUs())
	if application == "ncf" { // which slows down on more; the simulator says so too
		most = 1
	}
	model := fmt.Sprintf("%s-%d", application, batch)
	if !elastic.ValidModel(model) {
		return job, fmt.Errorf("application %q cannot name a model: want letters, digits and . _ + - / : @", cut(application))
	}
	job.Speeds = speeds
	job.Spec = elastic.Spec{
		Min: 1, Max: most, AllowUneven: true,
		Total: float64(speeds.Profile.Epochs), Unit: elastic.Epochs, Model: model,
	}
	return job, nil
}

// base is a file's name without folder and ending.
func base(path string) string {
	name := filepath.Base(path)
	return strings.TrimSuffix(name, filepath.Ext(name))
}
