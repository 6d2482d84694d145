package sweep

import (
	"cmp"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// MaxPerGPU bounds how many trials of a lane run at once.
const MaxPerGPU = 8

// A lane that runs several trials at once (Sweep.PerGPU) has a slot for each, from 1. Every slot asks by
// itself and has lines of its own: to sluiced it is a lane. Slot 1 has the lane's name and files; slot 2
// of lane L is L.2, and its files are lane.2.json, trials.2.jsonl and trial.2.json, in the same folders.

// Slots is how many slots a lane may have.
func (s Sweep) Slots() int { return min(max(1, s.PerGPU), MaxPerGPU) }

// SlotName names a slot of a lane: the lane's token for slot 1, and token.2 for slot 2.
func SlotName(lane string, slot int) string {
	if slot <= 1 {
		return lane
	}
	return lane + "." + strconv.Itoa(slot)
}

// LaneOf is the lane of a slot, by the slot's name.
func LaneOf(slot string) (lane string) {
	lane, _, _ = strings.Cut(slot, ".")
	return lane
}

// SlotOf is the number of a slot, by its name; 1 for a lane's.
func SlotOf(slot string) int {
	_, number, _ := strings.Cut(slot, ".")
	n, err := strconv.Atoi(number)
	if err != nil {
		return 1
	}
	return max(1, n)
}

// SlotFile is the name of a slot's file: that of the lane for slot 1.
func SlotFile(file string, slot int) string {
	if slot <= 1 {
		return file
	}
	end := filepath.Ext(file)
	return strings.TrimSuffix(file, end) + "." + strconv.Itoa(slot) + end
}

// Sharing is what a lane of the sweep measured: how many trials are to run at once on its GPUs. The first
// lane that knows writes it into the sweep's folder (SharingFile), and the others with as many GPUs of
// this type follow it, so that they need not measure. It falls only: a trial that runs out of memory lowers it.
type Sharing struct {
	Version int       `json:"version"`
	At      time.Time `json:"at"`
	Job     int64     `json:"job"` // of the lane that measured
	GPUs    int       `json:"gpus"`
	// Type is that of the GPUs, in the form of ValidType; "" = it was not known, as in files of sluice before it had types.
	Type   string `json:"type,omitempty"`
	Trials int    `json:"trials"` // at once, 1 to MaxPerGPU
	// Tried are the numbers of trials that were measured, ascending, without 1.
	Tried []Tried `json:"tried,omitempty"`
	// Memory: a trial ran out of memory beside others. Short: trials ended before they were measured.
	Memory bool `json:"memory,omitempty"`
	Short  bool `json:"short,omitempty"`
}

// Tried is the speed of so many trials at once: the sum of their speeds, each divided by its own alone.
type Tried struct {
	Trials int     `json:"trials"`
	Speed  float64 `json:"speed"`
}

// SharingFile is the name of the answer for lanes of so many GPUs per job, of a type that is valid or "".
func SharingFile(gpus int, kind string) string {
	if kind == "" {
		return fmt.Sprintf("sharing.%d.json", gpus)
	}
	return fmt.Sprintf("sharing.%d.%s.json", gpus, kind)
}

var typeForm = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_.+:-]{0,63}$`)

// ValidType reports whether a type of GPUs can be part of a file's name.
func ValidType(kind string) bool { return typeForm.MatchString(kind) }

// mostNames bounds how many names of a sweep's folder are read.
const mostNames = 4096

// Sharings reads all answers in a sweep's folder, a checkpoint.Dir; the order is that of GPUs, then of types. What cannot be read is
// left out.
func Sharings(folder interface {
	Names(most int) ([]string, error)
	Read(name string, most int64) ([]byte, error)
}) (all []Sharing) {
	names, _ := folder.Names(mostNames)
	for _, name := range names {
		if is, _ := filepath.Match("sharing.*.json", name); !is {
			continue
		}
		data, err := folder.Read(name, MaxSmall)
		if err != nil {
			continue
		}
		if s, err := ParseSharing(data); err == nil {
			all = append(all, s)
		}
	}
	slices.SortFunc(all, func(a, b Sharing) int { return cmp.Or(cmp.Compare(a.GPUs, b.GPUs), cmp.Compare(a.Type, b.Type)) })
	return all
}

// AtOnce is how many trials each lane runs at once, as far as lanes measured it: the least of the answers, since lanes
// of a sweep may differ in their GPUs; 1 if there is none.
func (s Sweep) AtOnce(answers []Sharing) int {
	if len(answers) == 0 {
		return 1
	}
	least := s.Slots()
	for _, a := range answers {
		least = min(least, a.Trials)
	}
	return least
}

// ParseSharing reads an answer. Users can write anything there.
func ParseSharing(data []byte) (Sharing, error) {
	var s Sharing
	if err := decode(data, &s); err != nil {
		return Sharing{}, fmt.Errorf("sharing: %w", err)
	}
	if s.Version > Version || s.Trials < 1 || s.Trials > MaxPerGPU || s.GPUs < 0 || len(s.Tried) > MaxPerGPU || s.Type != "" && !ValidType(s.Type) {
		return Sharing{}, fmt.Errorf("sharing: not written by a lane")
	}
	return s, nil
}
