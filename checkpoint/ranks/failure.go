package ranks

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"github.com/sluice-hpc/sluice/checkpoint"
)

// Failure is the first process of a training that failed, as `sluice ranks` found it.
type Failure struct {
	Node   string `json:"name"`
	Rank   int    `json:"rank"`
	Code   int    `json:"code"`             // in the shell's form, 1 to 255
	Signal string `json:"signal,omitempty"` // that ended it, without SIG
	// Memory: the kernel killed processes of the job on the node for the memory they
	// used.
	Memory bool `json:"memory,omitempty"`
	// Nodes is the number of nodes of the step if they meet; else 0.
	Nodes int `json:"nodes,omitempty"`
	// Task is the kind of a task that is not a worker, and ID its number in its kind.
	// Rank is then a rank on the same node.
	Task string `json:"task,omitempty"`
	ID   int    `json:"id,omitempty"`
	// Why a process could not be started; "" if it was started.
	Why string `json:"why,omitempty"`
}

// failureFile is the note of the first failure among a step's nodes. A step with a single
// node, which meets no other, has its folder for this file only.
const (
	failureFile = "failed"
	alone       = "alone"
)

// failed is a failure of this node's processes, the first of which is rank.
func (n Node) failed(rank, code int) Failure {
	f := Failure{Node: n.Name, Rank: rank, Code: code}
	if n.Meeting != "" {
		f.Nodes = n.Nodes
	}
	return f
}

// writeFailure reports the failure to the other nodes, whose processes would wait for the
// failed one until their own timeout, and to the runner. Only the first report counts:
// later failures are mostly consequences.
func (n Node) writeFailure(f Failure) error {
	if n.JobDir == "" {
		return nil
	}
	data, err := json.Marshal(f)
	if err != nil {
		return err
	}
	dir, err := n.meeting()
	if err != nil {
		return err
	}
	defer dir.Close()
	if err := dir.Create(failureFile, data, 0o644); !errors.Is(err, fs.ErrExist) {
		return err
	}
	return nil
}

// news is what a node learns from the others and the runner.
type news struct {
	failure Failure // on any node
	failed  bool    // there is one
	past    bool    // the script was started again: this step is obsolete
}

func (n Node) readNews() (got news) {
	if n.Meeting == "" {
		return got
	}
	dir, err := n.meeting()
	if err != nil {
		return got
	}
	defer dir.Close()
	got.failure, got.failed = readFailure(dir)
	got.past = isPast(dir)
	return got
}

func readFailure(dir *checkpoint.Dir) (f Failure, failed bool) {
	data, err := dir.Read(failureFile, maxNote)
	if err != nil || json.Unmarshal(data, &f) != nil {
		return Failure{}, false
	}
	return f, f.Code > 0 && f.Code < 256 && f.Rank >= 0 && f.ID >= 0 && f.Nodes >= 0 && f.Nodes <= maxNodes
}

// FirstFailure returns the process that failed first in the last failed step since the
// script was started, from the notes in the job's folder. Texts are as written: the
// caller MUST make them safe before it displays them.
func FirstFailure(jobDir string) (f Failure, failed bool) {
	var newest time.Time
	eachStep(jobDir, func(dir *checkpoint.Dir, _ string) {
		at, err := dir.Lstat(failureFile)
		if found, ok := readFailure(dir); ok && err == nil && !at.ModTime().Before(newest) {
			f, failed, newest = found, true, at.ModTime()
		}
	})
	return f, failed
}

// String is for example "rank 3 on node gpu2 failed first (exit code 1)".
func (f Failure) String() string {
	if f.Why != "" {
		return fmt.Sprintf("%s on node %s could not be started: %s", f.who(), f.Node, f.Why)
	}
	return fmt.Sprintf("%s on node %s failed first (%s)", f.who(), f.Node, f.how())
}

// who is for example "rank 3" or "ps 1".
func (f Failure) who() string {
	if f.Task != "" {
		return fmt.Sprintf("%s %d", f.Task, f.ID)
	}
	return fmt.Sprintf("rank %d", f.Rank)
}

func (f Failure) how() string {
	switch {
	case f.Memory:
		return "signal " + f.Signal + ", out of memory"
	case f.Signal != "":
		return "signal " + f.Signal
	}
	return fmt.Sprintf("exit code %d", f.Code)
}
