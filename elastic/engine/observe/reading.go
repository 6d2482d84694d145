package observe

import "github.com/sluice-hpc/sluice/checkpoint"

// LinesPerUser and bytesPerUser bound what is read per cycle from one user's progress files, so that
// it does not delay others. Reading of the user's files stops after the file that exceeds a bound;
// the rest is read in later cycles, the files read longest ago first.
const LinesPerUser, bytesPerUser = 2000, 256 << 10

// Reading is a job's progress file and the offset up to which it was read.
type Reading struct {
	Box
	Owner  uint32 // whose budget it is read from
	Offset int64
}

// Lines are the new lines of one progress file.
type Lines struct {
	Read  bool // the file was read; false = the user's budget was spent
	Lines []checkpoint.Progress
	Next  int64
	Bad   []error
	Err   error
}

// readerBudget has the lines and bytes that were read in this cycle, by owner.
type readerBudget map[uint32]struct{ lines, bytes int64 }

func (b readerBudget) spent(owner uint32) bool {
	return b[owner].lines >= LinesPerUser || b[owner].bytes >= bytesPerUser
}

// Progress reads the new lines of progress files in the given order, within each user's budget.
func (o *Observer) Progress(all []Reading) []Lines {
	out, budget := make([]Lines, len(all)), readerBudget{}
	for i, r := range all {
		if budget.spent(r.Owner) {
			continue
		}
		l := &out[i]
		l.Read = true
		l.Lines, l.Next, l.Bad, l.Err = o.Mail.Progress(r.Token, r.SlurmUID, r.Offset)
		if l.Err == nil {
			budget.spend(r, l)
		}
	}
	return out
}

// spend counts what was read. A file that became shorter was read from its start.
func (b readerBudget) spend(r Reading, l *Lines) {
	of := b[r.Owner]
	of.lines += int64(len(l.Lines) + len(l.Bad))
	of.bytes += max(0, l.Next-r.Offset)
	if l.Next < r.Offset {
		of.bytes += l.Next
	}
	b[r.Owner] = of
}
