package main

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/sluice-hpc/sluice/elastic/sim/workload"
)

// restartPrice is the value of --restart.
type restartPrice struct {
	fixed   time.Duration
	byModel bool
}

// parseRestart reads a duration or the word model.
func parseRestart(text string) (restartPrice, error) {
	if text == "model" {
		return restartPrice{byModel: true}, nil
	}
	d, err := time.ParseDuration(text)
	if err != nil || d < 0 || d > 24*time.Hour {
		return restartPrice{}, fmt.Errorf("--restart %q: want a time such as 30s, at most 24h, or model", text)
	}
	return restartPrice{fixed: d}, nil
}

// The parts of a restart cost by model. The protocol is the cost of a resize for a job
// with nothing to save or load, measured on a real Slurm (make bench); the others are
// assumed.
const (
	protocolTime = 1400 * time.Millisecond // from checkpoint request to running again, without the job's own part
	libraryTime  = 8 * time.Second         // import of the framework and first contact of the workers
	saveRate     = 500e6                   // bytes a second to the shared file system
	loadRate     = 1000e6                  // and back
	weightBytes  = 12                      // per parameter: weight and two moments of the optimiser, 32 bits each
)

// weights are the approximate millions of parameters of the models that published
// workloads and our generators name, in their common form; a site's own model of that
// name may differ. Those of the generators' families are chosen.
var weights = map[string]float64{
	"alexnet": 61, "vgg16": 138, "mobilenet-v2": 3.5, "resnet18": 11.7, "googlenet": 6.6, "densenet121": 8, "resnet50": 25.6,
	"resnet152": 60.2, "inception3": 27.2, "bert": 110, "gpt2": 124, "yolov3": 62, "deepspeech2": 39, "ncf": 32,
	"cifar10": 11.2, "imagenet": 25.6, "resnet50_cifar10": 23.5,
	"conv-deep": 60, "conv-small": 12, "transformer": 110, "speech": 39, "recommender": 32, "reinforcement": 4,
}

// weightOf returns the millions of parameters of a model; its name may have a suffix, as
// in "bert@32".
func weightOf(model string) (float64, bool) {
	for name := model; name != ""; {
		if w, ok := weights[name]; ok {
			return w, true
		}
		name = name[:max(0, strings.LastIndexAny(name, "-_@:/+."))]
	}
	return 0, false
}

// modelRestart is the cost of one restart of a model with this many million parameters,
// rounded to 0.1 s.
func modelRestart(millions float64) time.Duration {
	bytes := millions * 1e6 * weightBytes
	return (protocolTime + libraryTime + time.Duration((bytes/saveRate+bytes/loadRate)*float64(time.Second))).Round(100 * time.Millisecond)
}

// prices are the restart costs of a workload's jobs, in its order.
type prices struct {
	each              []time.Duration
	least, mean, most time.Duration
}

// of returns the cost for a job by its index in the workload.
func (p prices) of(job int) time.Duration {
	if job >= len(p.each) {
		return p.mean
	}
	return p.each[job]
}

// priced computes the cost for every job of the workload.
func (r restartPrice) priced(w workload.Workload) (prices, error) {
	if !r.byModel {
		return prices{least: r.fixed, mean: r.fixed, most: r.fixed}, nil
	}
	p := prices{least: math.MaxInt64}
	sum := 0.0
	for j := range w.Jobs {
		millions, known := weightOf(j.Spec.Model)
		if !known {
			return p, fmt.Errorf("--restart model: job %s of %s trains %q, whose size is unknown; give one cost for all, such as --restart 30s (known are %s)",
				j.Name, w.Name, j.Spec.Model, strings.Join(slices.Sorted(maps.Keys(weights)), ", "))
		}
		d := modelRestart(millions)
		p.each = append(p.each, d)
		p.least, p.most = min(p.least, d), max(p.most, d)
		sum += d.Seconds()
	}
	p.mean = time.Duration(sum / float64(max(1, len(p.each))) * float64(time.Second)).Round(time.Millisecond)
	return p, nil
}
