package track

import (
	"cmp"

	"github.com/sluice-hpc/sluice/checkpoint"
	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/engine/journal"
)

// unitOf returns the job's unit of work: as submitted, else as its program reports, else epochs.
func (sp *Speeds) unitOf(rec journal.JobRecord) elastic.Unit {
	return cmp.Or(sp.knownUnit(rec), elastic.Epochs)
}

// knownUnit is unitOf for what must not be guessed; "" = neither submitted nor reported yet.
func (sp *Speeds) knownUnit(rec journal.JobRecord) elastic.Unit {
	return cmp.Or(rec.Tag.Spec.Unit, sp.units[rec.Token])
}

// reportedUnit returns the unit of a line's Done; "" = it cannot be determined. It is so where both
// or neither of step and epoch agree with Done, as at the first line.
func reportedUnit(line checkpoint.Progress) elastic.Unit {
	steps, epochs := line.Step > 0 && line.Done == float64(line.Step), line.Epoch > 0 && line.Done == line.Epoch
	switch {
	case steps && !epochs:
		return elastic.Steps
	case epochs && !steps:
		return elastic.Epochs
	}
	return ""
}

// sameUnit reports whether a line's speed is in the job's unit. For a job submitted without a unit
// the first line that shows one decides. A step's time MUST NOT be stored as an epoch's:
// admission of later jobs of the model depends on it.
func (sp *Speeds) sameUnit(rec journal.JobRecord, line checkpoint.Progress) bool {
	unit := reportedUnit(line)
	if unit == "" {
		return true
	}
	if rec.Tag.Spec.Unit == "" && sp.units[rec.Token] == "" {
		sp.units[rec.Token] = unit
	}
	return unit == sp.unitOf(rec)
}
