package ranks

import (
	"errors"
	"fmt"
	"io/fs"
	"strconv"
	"strings"

	"github.com/sluice-hpc/sluice/checkpoint"
)

const (
	// maxSteps bounds how many steps of a run are read.
	maxSteps = 1000
	// maxNodes bounds the nodes of a step.
	maxNodes = 10_000
	// maxName bounds the length of a node's name, in bytes.
	maxName = 255
	// pastFile marks the steps of an earlier start of the script.
	pastFile = "past"
)

// overFile is a node's note, in a failed step, that it has ended in a way that Slurm
// notices.
func overFile(id int) string { return strconv.Itoa(id) + ".over" }

// reportOver reports to the runner that this node has ended.
func (n Node) reportOver() error {
	if n.Meeting == "" {
		return nil
	}
	return n.leave(overFile(n.ID), struct{}{})
}

// eachStep calls its argument with the folders of the steps since the script was started;
// they are closed after use.
func eachStep(jobDir string, use func(dir *checkpoint.Dir, name string)) {
	_ = inSteps(jobDir, func(dir *checkpoint.Dir, name string) error { // the readable ones
		if !isPast(dir) {
			use(dir, name)
		}
		return nil
	})
}

func inSteps(jobDir string, use func(dir *checkpoint.Dir, name string) error) error {
	job, err := checkpoint.OpenDir(jobDir)
	if err != nil {
		return err
	}
	defer job.Close()
	all, err := job.Sub(Folder)
	if err != nil {
		return err
	}
	defer all.Close()
	steps, err := all.Names(maxSteps)
	for _, name := range steps {
		dir, failed := all.Sub(name)
		if failed == nil {
			failed = errors.Join(use(dir, name), dir.Close())
		}
		err = errors.Join(err, failed)
	}
	return err
}

func isPast(dir *checkpoint.Dir) bool {
	_, err := dir.Lstat(pastFile)
	return err == nil
}

// Forget marks all steps so far as past, when the script is started again: their notes no
// longer count, and processes of them that still run end.
func Forget(jobDir string) error {
	err := inSteps(jobDir, func(dir *checkpoint.Dir, name string) error {
		if name == alone { // single-node steps meet no other node, and share this folder
			return dir.Remove(failureFile)
		}
		return dir.Write(pastFile, nil, 0o644)
	})
	if errors.Is(err, fs.ErrNotExist) {
		return nil // no step yet
	}
	return err
}

// Rest is a failed step that has not ended on all of its nodes.
type Rest struct {
	Step    string   // <run>.<step>
	First   Failure  // the first failure
	Missing []string // nodes that have not ended; by number if they never came
}

// String is for example "step 0.1: rank 0 on node gpu1 failed first (exit code 1), and
// node gpu2 has not ended".
func (r Rest) String() string {
	return fmt.Sprintf("step %s: %s, and %s", r.Step, r.First, missingWords(r.Missing))
}

// maxNamed bounds how many nodes a message names.
const maxNamed = 8

func missingWords(missing []string) string {
	words, verb := "node", "has"
	if len(missing) > 1 {
		words, verb = "nodes", "have"
	}
	for i, name := range missing[:min(len(missing), maxNamed)] {
		if i > 0 {
			words += ","
		}
		words += " " + name
	}
	if more := len(missing) - maxNamed; more > 0 {
		words += fmt.Sprintf(" and %d more", more)
	}
	return words + " " + verb + " not ended"
}

// Unended returns the newest step since the script was started, if it failed and has not
// ended on all nodes. For some seconds that is normal; for longer it means that a node's
// processes have ended and Slurm does not know. An older step may be irrelevant to the
// script: another one trains. If there is none, Rest is zero.
func Unended(jobDir string) (rest Rest, unended bool) {
	newest := -1
	eachStep(jobDir, func(dir *checkpoint.Dir, name string) {
		_, after, _ := strings.Cut(name, ".")
		number, err := strconv.Atoi(after)
		if err != nil || number < newest {
			return // single-node, or older
		}
		newest = number
		rest, unended = restOf(dir, name)
	})
	return rest, unended
}

func restOf(dir *checkpoint.Dir, name string) (r Rest, unended bool) {
	f, failed := readFailure(dir)
	if !failed || f.Nodes < 2 {
		return Rest{}, false
	}
	r = Rest{Step: name, First: f}
	for id := range f.Nodes {
		if _, err := dir.Lstat(overFile(id)); err != nil {
			r.Missing = append(r.Missing, nameOf(dir, id))
		}
	}
	if len(r.Missing) == 0 {
		return Rest{}, false
	}
	return r, true
}

// nameOf is the name that a node of a step gave itself, else its number.
func nameOf(dir *checkpoint.Dir, id int) string {
	if n, err := readNote(dir, id); err == nil && n.Name != "" && len(n.Name) <= maxName {
		return n.Name
	}
	return strconv.Itoa(id)
}
