package command

import (
	"fmt"
	"strconv"
	"time"

	"github.com/sluice-hpc/sluice/slurm"
)

// reader reads the values of one record and remembers the first that it could
// not read.
type reader struct {
	record []string
	err    error
}

func (v *reader) note(field int, err error) {
	if err != nil && v.err == nil {
		v.err = fmt.Errorf("field %d: %w", field+1, err)
	}
}

func (v *reader) count(field int) int {
	n, err := count(v.record[field])
	v.note(field, err)
	return n
}

func (v *reader) time(field int) time.Time {
	t, err := epoch(v.record[field])
	v.note(field, err)
	return t
}

func (v *reader) duration(field int) time.Duration {
	d, err := duration(v.record[field])
	v.note(field, err)
	return d
}

func (v *reader) hosts(field int) []string {
	if empty(v.record[field]) {
		return nil
	}
	names, err := slurm.Expand(v.record[field])
	v.note(field, err)
	return names
}

func (v *reader) gpus(field int) gpus {
	g, err := parseGPUs(v.record[field])
	v.note(field, err)
	return g
}

func (v *reader) uid(field int) uint32 {
	n, err := strconv.ParseUint(v.record[field], 10, 32)
	v.note(field, err)
	return uint32(n)
}

func (v *reader) exit(field int) (code, signal int) {
	code, signal, err := exitStatus(v.record[field])
	v.note(field, err)
	return code, signal
}

// priority reads a job's priority; Slurm's words and numbers for none are 0.
func (v *reader) priority(field int) int64 {
	n, err := count(v.record[field])
	v.note(field, err)
	return int64(n)
}

// zero reports whether the number is given and is 0.
func (v *reader) zero(field int) bool { return v.record[field] == "0" }

// size fills in how many nodes and GPUs the job has or requests.
//
// The nodes of a pending job are an estimate that grows with its CPUs; if the job sets a
// maximum (sluice always does) that is the number it requests. GPUs: the allocated number
// is exact if Slurm tracks GPUs, which needs an accounting database; otherwise, and for a
// pending job, the request is used.
func (v *reader) size(j *slurm.Job) {
	j.NodeCount = v.count(fNumNodes)
	if len(j.Nodes) > 0 {
		j.NodeCount = len(j.Nodes)
	} else if most := v.count(fMaxNodes); most > 0 {
		j.NodeCount = min(j.NodeCount, most)
	}
	for _, a := range amounts(v.record[fTresAlloc]) {
		switch {
		case a.Of == slurm.OfCPUs:
			j.CPUs = a.N
		case a.Of == slurm.OfMemory && len(j.Nodes) > 0:
			j.MemoryMB = a.N
		case a.Of == slurm.OfBilling && len(j.Nodes) > 0:
			j.Billing = a.N
		}
	}
	asked := v.asked(j.NodeCount)
	j.GPUs, j.Slices, j.GPUType = asked.count, asked.slices, asked.kind
	tracked := v.gpus(fTresAlloc)
	if tracked.count > 0 && (len(j.Nodes) > 0 || asked.count == 0) {
		j.GPUs, j.Slices = tracked.count, min(max(asked.slices, tracked.slices), tracked.count) // types may not be tracked
		if tracked.kind != "" {
			j.GPUType = tracked.kind
		}
	}
}

// asked adds up the GPUs that the job requests. A request per job is the total; a request
// per node or per task is multiplied.
func (v *reader) asked(nodes int) gpus {
	if g := v.gpus(fTresPerJob); g.count > 0 {
		return g
	}
	if g := v.gpus(fTresPerNode); g.count > 0 {
		return g.times(nodes)
	}
	return v.gpus(fTresPerTask).times(v.count(fNumTasks))
}
