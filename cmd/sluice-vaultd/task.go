package main

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/sluice-hpc/sluice/elastic/vault"
	"github.com/sluice-hpc/sluice/elastic/vault/wire"
	"github.com/sluice-hpc/sluice/sbatch"
)

// firstTask is the first job of an array, whose script and code the others share.
type firstTask struct {
	id             string // the job's
	number         int64  // Slurm's
	folder         string // the job's
	digest, bundle string // of script and code
}

// firstTask returns the array's first job that a submission names: one of the caller's, with the same data sets, that Slurm
// has. It MUST have a script and code of its own: what the record says of a task is what the first has. The mutex must be held.
func (s *service) firstTask(who caller, q wire.Request) (*firstTask, error) {
	j, err := s.jobOf(who, wire.Request{Do: q.Do, Job: q.Task.Of})
	if err != nil {
		return nil, err
	}
	first := j.Task != nil && j.Task.Of == ""
	if !first || j.State != wire.StateStarted || s.vault.state.Numbered(j.Number) != j || !sameSets(j, q.Data) {
		return nil, wire.Fail(wire.BadRequest, "submit the array again", "job %s is no first task of an array with these data sets", j.ID)
	}
	return &firstTask{id: j.ID, number: j.Number, folder: s.vault.jobFolder(j.ID), digest: j.Digest, bundle: j.Bundle}, nil
}

func sameSets(j *vault.Job, data []string) bool {
	return slices.Equal(slices.Sorted(slices.Values(j.Sets)), slices.Sorted(slices.Values(data)))
}

// task is the place of the job in an array, as the record has it; nil = it is in none.
func (sub *submission) task() *wire.Task {
	t := sub.q.Task
	if sub.first == nil {
		return t
	}
	return &wire.Task{Of: sub.first.id, Index: t.Index}
}

// holdsAll refuses the first task of an array whose further tasks would be refused: those before count, also once they are cancelled.
func (s *service) holdsAll(sub *submission, array *sbatch.Array) error {
	if sub.tasks = 1; array != nil && sub.first == nil {
		sub.tasks = len(array.Tasks)
	}
	s.vault.mu.Lock()
	defer s.vault.mu.Unlock()
	if more, left := min(sub.tasks-1, s.tasks.burst), s.tasks.left(sub.who.uid, s.vault.now()); more > left {
		return wire.Fail(wire.TooMany, fmt.Sprintf("try again in %v", time.Duration(more-left)*s.tasks.every), "you submitted many tasks of arrays that use data sets; %d more are taken now", left+1)
	}
	return s.holds(sub)
}

// holds reports why the numbers of a job, or of all tasks of an array, do not fit into the budgets of its data sets. The mutex must be held.
func (s *service) holds(sub *submission) error {
	cost, now := int64(s.site.Data.Numbers), s.vault.now()
	fit := s.vault.state.Hold(sub.who.name, sub.q.Data, cost, now)
	if fit >= int64(sub.tasks) {
		return nil
	}
	text := fmt.Sprintf("the job may report %d bytes of progress ([data] numbers in sluice.toml), and the budgets of its data sets leave you %d bytes now",
		cost, s.vault.state.Room("", sub.who.name, sub.q.Data, now))
	if fit > 0 {
		text = fmt.Sprintf("each of the %d tasks may report %d bytes of progress ([data] numbers in sluice.toml), and the budgets of its data sets hold those of %d tasks now", sub.tasks, cost, fit)
	}
	return wire.Fail(wire.OverBudget, "wait until the window of the budget has passed, or ask the owner; 'sluice data show' says more", "%s", text)
}

// read returns the script as the record has it.
func (f *firstTask) read() ([]byte, error) {
	name := filepath.Join(f.folder, scriptName)
	data, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	if sum := sha256.Sum256(data); hex.EncodeToString(sum[:]) != f.digest {
		return nil, fmt.Errorf("%s is not the script that was submitted", name)
	}
	return data, nil
}
