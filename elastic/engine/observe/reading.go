package observe

import "github.com/sluice-hpc/sluice/checkpoint"

// LinesPerUser and bytesPerUser are what one user's files of progress cost others at most, a cycle. They end the reading of a
// user's files: the file that passes them is the last. What is left waits for its turn; who was
// not heard for longest is next.
const LinesPerUser, bytesPerUser = 2000, 256 << 10

// Reading is a job's file of progress, and how far it was read before.
type Reading struct {
	Box
	Offset int64
}

// Lines are what was read of one.
type Lines struct {
	Read  bool // it was tried; else the user's budget was spent
	Lines []checkpoint.Progress
	Next  int64
	Bad   []error
	Err   error
}

// readerBudget is what was read in this cycle, by user.
type readerBudget map[uint32]struct{ lines, bytes int64 }

func (b readerBudget) spent(uid uint32) bool {
	return b[uid].lines >= LinesPerUser || b[uid].bytes >= bytesPerUser
}

// Progress reads the new lines of jobs, within what each user may cost, in the order given.
func (o *Observer) Progress(all []Reading) []Lines {
	out, budget := make([]Lines, len(all)), readerBudget{}
	for i, r := range all {
		if budget.spent(r.UID) {
			continue
		}
		l := &out[i]
		l.Read = true
		l.Lines, l.Next, l.Bad, l.Err = o.Mail.Progress(r.Token, r.UID, r.Offset)
		if l.Err == nil {
			budget.spend(r, l)
		}
	}
	return out
}

// spend counts what was read. A file that was made shorter was read from its start.
func (b readerBudget) spend(r Reading, l *Lines) {
	of := b[r.UID]
	of.lines += int64(len(l.Lines) + len(l.Bad))
	of.bytes += max(0, l.Next-r.Offset)
	if l.Next < r.Offset {
		of.bytes += l.Next
	}
	b[r.UID] = of
}
