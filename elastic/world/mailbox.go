package world

import (
	"fmt"
	"time"

	"github.com/sluice-hpc/sluice/checkpoint"
	"github.com/sluice-hpc/sluice/elastic/engine/observe"
)

// maxLines bounds one read of a progress log.
const maxLines = 1000

// Mailbox is the shared file system in memory: the engine's side of it as
// methods, the runners' side within the world.
type Mailbox struct {
	// Fault, when set, is called before every operation of the engine ("ask", "withdraw",
	// "aim", "forget", "runner", "progress"). If it returns an error, the operation fails with
	// it and does nothing, as with a full disk or a lost mount.
	Fault func(op, token string) error

	w     *World
	boxes map[string]*box
}

var _ observe.Mailbox = (*Mailbox)(nil)

// box is the two folders of one job.
type box struct {
	request *checkpoint.Request
	target  *checkpoint.Target
	uid     uint32
	runner  *checkpoint.Runner
	garbled []byte // contents of the runner's file instead of its status
	lines   []line
}

// line is one line of a progress log: as the program wrote it, or as raw text.
type line struct {
	checkpoint.Progress
	raw []byte
}

func (m *Mailbox) box(token string) *box {
	b := m.boxes[token]
	if b == nil {
		b = &box{}
		m.boxes[token] = b
	}
	return b
}

// do runs one operation of the engine under the world's lock.
func (m *Mailbox) do(op, token string, do func(b *box) error) (err error) {
	if m.Fault != nil {
		if err := m.Fault(op, token); err != nil {
			return err
		}
	}
	m.w.Slurm.Do(func(time.Time) { err = do(m.box(token)) })
	return err
}

// Ask puts a request in the outbox; the runner sees it within Config.Notice.
func (m *Mailbox) Ask(token string, r checkpoint.Request) error {
	return m.do("ask", token, func(b *box) error {
		b.request = &r
		m.w.nudge(token)
		return nil
	})
}

// Withdraw takes the request back.
func (m *Mailbox) Withdraw(token string) error {
	return m.do("withdraw", token, func(b *box) error {
		if b.request != nil {
			b.request = nil
			m.w.nudge(token)
		}
		return nil
	})
}

// Aim writes what the next run is.
func (m *Mailbox) Aim(token string, t checkpoint.Target) error {
	return m.do("aim", token, func(b *box) error {
		b.target = &t
		return nil
	})
}

// Forget empties the job's outbox.
func (m *Mailbox) Forget(token string) error {
	return m.do("forget", token, func(b *box) error {
		b.request, b.target = nil, nil
		m.w.nudge(token)
		return nil
	})
}

// Runner reads the runner's status.
func (m *Mailbox) Runner(token string, uid uint32) (r checkpoint.Runner, ok bool, err error) {
	err = m.do("runner", token, func(b *box) error {
		if b.runner == nil {
			return nil
		}
		if err := b.ownedBy(uid); err != nil {
			return err
		}
		if b.garbled != nil {
			word, err := checkpoint.ParseRunner(b.garbled)
			r, ok = word, err == nil
			return err
		}
		r, ok = *b.runner, true
		m.w.heartbeat(token, &r)
		m.w.gauge(token, &r)
		return nil
	})
	return r, ok, err
}

// RunnerNow is Runner, since reads are never old here.
func (m *Mailbox) RunnerNow(token string, uid uint32) (checkpoint.Runner, bool, error) {
	return m.Runner(token, uid)
}

// Progress reads the lines after offset, which counts lines here. Raw lines are parsed by the real
// reader, and returned in bad if it rejects them.
func (m *Mailbox) Progress(token string, uid uint32, offset int64) (lines []checkpoint.Progress, next int64, bad []error, err error) {
	next = offset
	err = m.do("progress", token, func(b *box) error {
		if len(b.lines) == 0 && offset == 0 {
			return nil
		}
		if err := b.ownedBy(uid); err != nil {
			return err
		}
		if offset < 0 || offset > int64(len(b.lines)) {
			bad = append(bad, fmt.Errorf("%s: %w: %w: it was replaced and is read afresh", checkpoint.ProgressFile, checkpoint.ErrMalformed, checkpoint.ErrShortened))
			offset = 0
		}
		rest := b.lines[offset:]
		if len(rest) > maxLines {
			rest = rest[:maxLines]
		}
		for _, l := range rest {
			p, err := l.read()
			if err != nil {
				bad = append(bad, err)
				continue
			}
			lines = append(lines, p)
		}
		next = offset + int64(len(rest))
		return nil
	})
	return lines, next, bad, err
}

// read parses the line with the real reader.
func (l line) read() (checkpoint.Progress, error) {
	if l.raw == nil {
		return l.Progress, nil
	}
	return checkpoint.ParseProgress(l.raw)
}

func (b *box) ownedBy(uid uint32) error {
	if b.uid != uid {
		return fmt.Errorf("owned by uid %d, not by the job's user %d: %w", b.uid, uid, checkpoint.ErrOwner)
	}
	return nil
}

// asked reports whether there is a request without an answer.
func (m *Mailbox) asked() (yes bool) {
	m.w.Slurm.Do(func(time.Time) {
		for _, b := range m.boxes {
			if b.request != nil && (b.runner == nil || b.runner.Answer == nil || b.runner.Answer.Request != b.request.ID) {
				yes = true
				return
			}
		}
	})
	return yes
}
