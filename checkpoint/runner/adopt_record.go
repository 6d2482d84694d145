package runner

import (
	"encoding/json"
	"errors"
	"io/fs"
	"slices"
	"strings"
	"time"

	"github.com/sluice-hpc/sluice/checkpoint"
)

const (
	// recordFile, in the job's folder, stores what the runner adopted.
	recordFile = "adopted.json"
	maxRecord  = 1 << 20 // bytes
	maxAdopted = 64      // the newest
	maxShape   = 1 << 14 // bytes of names
	maxShapes  = 8
)

// record is what a later run must know about adopting in this one.
type record struct {
	// Before is what matched when the job first started: path to print.
	Before  map[string]string `json:"before"`
	Adopted []origins         `json:"adopted,omitempty"` // oldest first
	// Rhythm is the longest time between two adoptions of the last run that had
	// several, in seconds.
	Rhythm float64 `json:"rhythm,omitempty"`
	// Shapes maps a number of GPUs to the names of all files of a checkpoint saved on as
	// many, see sighting.shape. It does not include the last save of an earlier run,
	// which was not observed.
	Shapes  map[int][]string `json:"shapes,omitempty"`
	Greeted bool             `json:"greeted,omitempty"` // sluiced was told that the job can be resized
}

// origins are the sources of an adopted checkpoint.
type origins struct {
	Checkpoint string    `json:"checkpoint"`
	Path       string    `json:"path"`
	Print      string    `json:"print"`
	Number     int64     `json:"number"`
	Newest     time.Time `json:"newest"`
	Plain      bool      `json:"plain,omitempty"`  // a file, not a folder
	Copied     bool      `json:"copied,omitempty"` // not a hard link of the program's own file
}

// add records an adoption.
func (r *record) add(t taken, rhythm time.Duration) {
	r.Rhythm = rhythm.Seconds()
	r.Adopted = append(r.Adopted, origins{Checkpoint: t.name, Path: t.from.path, Print: t.from.print, Number: t.from.number,
		Newest: t.from.tree.Newest(), Plain: t.from.tree.Plain, Copied: t.copied})
	r.Adopted = r.Adopted[max(0, len(r.Adopted)-maxAdopted):]
}

// saw records the file names of a checkpoint that was saved on that many GPUs.
func (r *record) saw(s sighting, gpus int) {
	names := append(slices.Clone(r.Shapes[gpus]), s.shape()...)
	slices.Sort(names)
	if names = slices.Compact(names); gpus <= 0 || len(strings.Join(names, "")) > maxShape {
		return
	}
	if r.Shapes == nil || len(r.Shapes) >= maxShapes {
		r.Shapes = map[int][]string{}
	}
	r.Shapes[gpus] = names
}

// of returns the source of a checkpoint.
func (r record) of(name string) (origins, bool) {
	for i := len(r.Adopted) - 1; i >= 0; i-- {
		if r.Adopted[i].Checkpoint == name {
			return r.Adopted[i], true
		}
	}
	return origins{}, false
}

// plain is the name of the single file of a checkpoint that was adopted as a file; "" for
// others.
func (r record) plain(name string) string {
	if o, ok := r.of(name); ok && o.Plain {
		return baseName(o.Path)
	}
	return ""
}

// rewrites reports whether the program writes its checkpoint into the same files again:
// it has no number in its name, or this name has had other contents before.
func (r record) rewrites(s sighting) bool {
	if s.number < 0 {
		return true
	}
	if print, ok := r.Before[s.path]; ok && print != s.print {
		return true
	}
	for _, o := range r.Adopted {
		if o.Path == s.path && o.Print != s.print {
			return true
		}
	}
	return false
}

// known reports whether it existed before the job, or was adopted, unchanged.
func (r record) known(s sighting) bool {
	if r.Before[s.path] == s.print {
		return true
	}
	for _, o := range r.Adopted {
		if o.Path == s.path && o.Print == s.print {
			return true
		}
	}
	return false
}

// readRecord reads what earlier runs adopted; nil if there were none.
func (f folders) readRecord() (*record, error) {
	dir, err := checkpoint.OpenDir(f.jobDir)
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	data, err := dir.Read(recordFile, maxRecord)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var r record
	if err := json.Unmarshal(data, &r); err != nil {
		return nil, err
	}
	return &r, nil
}

func (f folders) writeRecord(r record) error {
	data, err := json.Marshal(r)
	if err != nil {
		return err
	}
	return f.write(recordFile, append(data, '\n'))
}
