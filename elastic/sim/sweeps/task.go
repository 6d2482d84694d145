package sweeps

import (
	"compress/gzip"
	"encoding/csv"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// Task is one data set of the testbench: what a training of each configuration reports.
type Task struct {
	Name    string
	Names   []string    // of parameters
	Configs [][]float64 // by configuration, in the order of Names
	Metric  [][]float64 // by configuration and epoch, percent; large is good
	Seconds [][]float64 // by configuration and epoch, of training until then
}

// Epochs is the length of every curve.
func (t *Task) Epochs() int { return len(t.Metric[0]) }

// Goal is the given quantile of the configurations' last metrics.
func (t *Task) Goal(quantile float64) float64 {
	var finals []float64
	for _, curve := range t.Metric {
		finals = append(finals, curve[len(curve)-1])
	}
	slices.Sort(finals)
	at := quantile * float64(len(finals)-1)
	low := int(at)
	high := min(low+1, len(finals)-1)
	return finals[low] + (at-float64(low))*(finals[high]-finals[low])
}

// Load reads every task-*.csv.gz of the folder, by name.
func Load(folder string) ([]*Task, error) {
	paths, err := filepath.Glob(filepath.Join(folder, "task-*.csv.gz"))
	if err != nil || len(paths) == 0 {
		return nil, fmt.Errorf("no task-*.csv.gz in %s (--data names the folder of published data, which is not part of sluice)", folder)
	}
	var tasks []*Task
	for _, path := range paths {
		t, err := read(path)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		tasks = append(tasks, t)
	}
	return tasks, nil
}

func read(path string) (*Task, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		return nil, err
	}
	rows, err := csv.NewReader(z).ReadAll()
	if err != nil {
		return nil, err
	}
	t := &Task{Name: strings.TrimSuffix(strings.TrimPrefix(filepath.Base(path), "task-"), ".csv.gz")}
	for line, row := range rows {
		if line == 0 {
			t.Names = row[:max(slices.Index(row, "acc_1"), 0)]
			continue
		}
		numbers := make([]float64, len(row))
		for i, text := range row {
			if numbers[i], err = strconv.ParseFloat(text, 64); err != nil || math.IsNaN(numbers[i]) {
				return nil, fmt.Errorf("line %d: %q is not a number", line+1, text)
			}
		}
		k := len(t.Names)
		epochs := (len(row) - k) / 2
		t.Configs = append(t.Configs, numbers[:k])
		t.Metric = append(t.Metric, numbers[k:k+epochs])
		t.Seconds = append(t.Seconds, numbers[k+epochs:k+2*epochs])
	}
	if len(t.Metric) == 0 || t.Epochs() == 0 {
		return nil, fmt.Errorf("no configurations")
	}
	return t, nil
}
