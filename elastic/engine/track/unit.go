package track

import (
	"cmp"

	"github.com/sluice-hpc/sluice/checkpoint"
	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/engine/journal"
)

// unitOf is what the job's work is counted in: as it was submitted, else as its program
// reports, else epochs.
func (sp *Speeds) unitOf(rec journal.JobRecord) elastic.Unit {
	return cmp.Or(rec.Tag.Spec.Unit, sp.units[rec.Token], elastic.Epochs)
}

// reportedUnit is what a line counts its work in; "" = the line does not tell.
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

// sameUnit reports whether the speed in a line is one of the job's unit. Of a job that was
// submitted without a unit, the first line that tells decides. A step's time MUST NOT be
// kept as an epoch's: deadlines of later jobs of the model are promised by it.
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
