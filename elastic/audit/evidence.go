package audit

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

// Evidence is the input of an audit, each part in the order of its record.
type Evidence struct {
	Events      []Event
	Controller  []Record
	Completions []Completion
	GPUs        map[string]int // by node
	Shown       []Shown        // the jobs at the end; nil = no dump
	// Notes say what could not be read, for the report.
	Notes []string
}

// Places are the files that hold the records.
type Places struct {
	Events      string // sluiced's log, JSON
	Controller  string // slurmctld's log
	Completions string // of jobcomp/filetxt; "" = there is none
	Conf        string // slurm.conf
	Shown       string // output of scontrol --oneliner show job; "" or no such file = none
}

// Site returns the places of the records in the folder of a lab site.
func Site(dir string) Places {
	return Places{
		Events:      filepath.Join(dir, "sluiced.log"),
		Controller:  filepath.Join(dir, "log", "slurmctld.log"),
		Completions: filepath.Join(dir, "log", "jobcomp.log"),
		Conf:        filepath.Join(dir, "etc", "slurm.conf"),
		Shown:       filepath.Join(dir, "log", "jobs.txt"),
	}
}

// Read reads the records. The event log, slurmctld's log and slurm.conf MUST exist. Slurm
// writes local times: loc is the zone of its machine.
func Read(p Places, loc *time.Location) (Evidence, error) {
	var e Evidence
	var other []Line
	err := errors.Join(
		reading(p.Events, true, func(r io.Reader, file string) (err error) {
			e.Events, other, err = ParseEvents(r, file)
			e.note(other)
			return err
		}),
		reading(p.Controller, true, func(r io.Reader, file string) (err error) {
			e.Controller, err = ParseController(r, file, loc)
			return err
		}),
		reading(p.Completions, false, func(r io.Reader, file string) (err error) {
			e.Completions, other, err = ParseCompletions(r, file, loc)
			e.note(other)
			return err
		}),
		reading(p.Conf, true, func(r io.Reader, file string) (err error) {
			e.GPUs, err = ParseConf(r, file)
			return err
		}),
		reading(p.Shown, false, func(r io.Reader, file string) (err error) {
			e.Shown, err = ParseShown(r, file)
			return err
		}),
	)
	if err == nil && len(e.Events) == 0 {
		err = fmt.Errorf("%s: no event of sluiced in it; an audit needs [log] format = \"json\" and level = \"debug\"", p.Events)
	}
	return e, err
}

// note records the first of the lines that could not be read.
func (e *Evidence) note(lines []Line) {
	if len(lines) > 0 {
		e.Notes = append(e.Notes, fmt.Sprintf("%d lines of %s cannot be read, first %s", len(lines), lines[0].File, lines[0]))
	}
}

// reading opens one record, which must be a regular file, and passes it to do. A missing file
// is an error only if it is needed.
func reading(path string, needed bool, do func(io.Reader, string) error) error {
	if path == "" && !needed {
		return nil
	}
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if errors.Is(err, fs.ErrNotExist) && !needed {
		return nil
	}
	if err != nil {
		return err
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return errors.Join(err, fmt.Errorf("%s: not a regular file", path))
	}
	return do(f, filepath.Base(path))
}
