package lane

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/sluice-hpc/sluice/checkpoint"
	"github.com/sluice-hpc/sluice/elastic/sweep"
)

func writeIn(folder, name string, value any) error {
	data, err := json.Marshal(value)
	if err != nil {
		return err
	}
	return checkpoint.WriteIn(folder, name, append(data, '\n'), 0o644)
}

// readIn reads a small file; nil if there is none.
func readIn(folder, name string) ([]byte, error) {
	data, err := checkpoint.ReadIn(folder, name, sweep.MaxSmall)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return data, err
}

// told reads what sluiced answered; ok is false if it has not answered this ask. A file system
// that fails for a moment is asked again.
func (l *lane) told(ask sweep.Ask) (sweep.Tell, bool) {
	data, err := readIn(l.outbox, sweep.SlotFile(sweep.TellFile, l.Slot))
	if err != nil || data == nil {
		return sweep.Tell{}, false
	}
	tell, ok, err := ask.Open(data)
	return tell, ok && err == nil
}

// event appends a line, and makes it durable.
func (l *lane) event(e sweep.Event) error {
	e.At = l.Now().UTC()
	data, err := json.Marshal(e)
	if err != nil {
		return err
	}
	f, err := os.OpenFile(filepath.Join(l.folder, sweep.SlotFile(sweep.EventFile, l.Slot)), os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o644)
	if err != nil {
		return err
	}
	defer f.Close()
	line := append(data, '\n')
	if info, err := f.Stat(); err == nil && info.Size() > 0 {
		last := make([]byte, 1)
		if _, err := f.ReadAt(last, info.Size()-1); err == nil && last[0] != '\n' {
			line = append([]byte("\n"), line...) // an earlier run was killed within a line
		}
	}
	_, err = f.Write(line)
	return errors.Join(err, f.Chmod(0o644), f.Sync())
}

// begun writes down that a trial begins.
func (l *lane) begun(ask sweep.Ask, tell sweep.Tell) error {
	return l.event(sweep.Event{Kind: sweep.Began, Trial: tell.Trial, Start: tell.Start, Ask: ask.ID, Point: tell.Point, Repeat: tell.Repeat, Extra: tell.Extra, Origin: tell.Origin})
}

// progress appends lines to the job's own progress log: a lane's work is counted in trials.
func (l *lane) progress(events ...string) error {
	gpus, _ := strconv.Atoi(l.vars["SLUICE_GPUS"])
	nodes, _ := strconv.Atoi(l.vars["SLUICE_NODES"])
	var lines []checkpoint.Progress
	for _, event := range events {
		lines = append(lines, checkpoint.Progress{
			Time: float64(l.Now().UnixMilli()) / 1000, Restarts: l.restarts, Event: event,
			Done: l.work, Epoch: l.work, GPUs: gpus, Nodes: nodes,
		})
	}
	return l.log(lines...)
}

// log appends lines to the job's own progress log; a slot has none.
func (l *lane) log(lines ...checkpoint.Progress) error {
	if l.Slot > 0 {
		return nil
	}
	f, err := os.OpenFile(filepath.Join(l.folder, checkpoint.ProgressFile), os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o644)
	if err != nil {
		return err
	}
	defer f.Close()
	for _, line := range lines {
		data, err := json.Marshal(line)
		if err != nil {
			return err
		}
		if _, err := f.Write(append(data, '\n')); err != nil {
			return err
		}
	}
	return nil
}

// request returns sluiced's request to save, as the runner of this job passes it on; nil if there
// is none.
func (l *lane) request() *checkpoint.Request {
	folder := l.folder
	if l.Slot > 0 { // from the lane that it is a slot of
		folder = l.inner
	}
	data, err := readIn(folder, checkpoint.RequestFile)
	if err != nil || data == nil {
		return nil
	}
	r, err := checkpoint.ParseRequest(data)
	if err != nil {
		return nil
	}
	return &r
}

// withdrawn waits until the request is withdrawn, or Slurm ends the job.
func (l *lane) withdrawn(r checkpoint.Request) {
	for {
		if now := l.request(); now == nil || now.ID != r.ID {
			return
		}
		if l.wait(nil) {
			return
		}
	}
}

// laneState is the only file of a lane's checkpoint.
type laneState struct {
	Sweep string  `json:"sweep"`
	Trial int     `json:"trial"` // that was saved; 0 = none
	Done  int     `json:"done"`
	Work  float64 `json:"work,omitempty"`
}

const stateFile = "lane.json"

// earlier returns how many trials the earlier runs of this lane ended, and their work.
func (l *lane) earlier() (done int, work float64) {
	resume := l.vars["SLUICE_RESUME"]
	if resume == "" {
		return 0, 0
	}
	var s laneState
	if data, err := readIn(resume, stateFile); err != nil || json.Unmarshal(data, &s) != nil || s.Done < 0 || s.Work < 0 {
		return 0, 0
	}
	return s.Done, s.Work
}

// answer answers a request by a checkpoint of the lane itself: what the trial needs is in the
// trial's own folder.
func (l *lane) answer(r checkpoint.Request, trial int) error {
	if l.Slot > 0 {
		return writeIn(l.inner, answerFile, answered{r.ID, trial})
	}
	dir, err := checkpoint.OpenDir(l.vars["SLUICE_CHECKPOINTS"])
	if err != nil {
		return err
	}
	defer dir.Close()
	series := checkpoint.NewSeries(dir, checkpoint.Identity{Job: l.job, Token: filepath.Base(l.folder)})
	names, err := series.Names()
	if err != nil {
		return err
	}
	next := 1
	if len(names) > 0 {
		n, _ := strconv.Atoi(names[0])
		next = n + 1
	}
	name := checkpoint.Name(next)
	sub, err := dir.Make(name, 0o700)
	if err != nil {
		return err
	}
	defer sub.Close()
	data, err := json.Marshal(laneState{l.sweep.Token, trial, l.done, l.work})
	if err == nil {
		err = sub.Write(stateFile, data, 0o600)
	}
	if err != nil {
		return err
	}
	ctx, stop := l.bounded(time.Minute)
	defer stop()
	gpus, _ := strconv.Atoi(l.vars["SLUICE_GPUS"])
	err = series.Commit(ctx, name, checkpoint.Manifest{
		Restarts: l.restarts, Step: int64(l.work), Epoch: l.work, Request: r.ID, Created: l.Now().UTC(), GPUs: gpus,
	})
	if err != nil {
		return fmt.Errorf("answering the request to save: %w", err)
	}
	return nil
}
