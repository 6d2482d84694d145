package main

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"
	"unicode/utf8"

	"github.com/sluice-hpc/sluice/checkpoint"
	"github.com/sluice-hpc/sluice/elastic/vault"
	"github.com/sluice-hpc/sluice/elastic/vault/wire"
)

// A part of a log has at most mostPart bytes; of one job one part leaves in each partEvery.
const (
	mostPart  = 256 << 10
	partEvery = time.Second
	mostTries = 16
)

// logs sends a part of a job's log. What left before is sent again from the copy; what is new is
// made printable, copied, counted, and only then sent.
func (s *service) logs(ctx context.Context, who caller, q wire.Request) (answer, error) {
	s.vault.mu.Lock()
	j, err := s.jobOf(who, q)
	if err == nil {
		err = s.reads(who, q, j)
	}
	s.vault.mu.Unlock()
	if err != nil {
		return answer{}, err
	}
	defer s.alone(j.ID)()
	a := answer{Answer: wire.Answer{ID: j.ID, Next: q.From}}
	s.vault.mu.Lock()
	left, state := j.Log, j.State
	s.vault.mu.Unlock()
	switch {
	case q.From > left:
		return answer{}, wire.Fail(wire.BadRequest, "", "only %d bytes of the log of job %s have left, so none can follow byte %d", left, q.Job, q.From)
	case state == wire.StateRefused:
		return answer{}, wire.Fail(wire.Conflict, "", "job %s was never submitted to Slurm", q.Job)
	case q.From == left:
		if err := s.refresh(ctx, j); err != nil { // BEFORE the log is read: then nothing follows if it has ended
			s.log.Warn().Err(err).Str("job", j.ID).Msg("whether the job has ended is not known")
		}
		if err := s.turn(ctx, j.ID); err != nil {
			return answer{}, err
		}
		for n, again := 0, true; again && n < mostTries; n++ { // a part may have nothing printable in it
			if again, err = s.release(&a, who, q, j); err != nil {
				return answer{}, err
			}
		}
	}
	s.vault.mu.Lock()
	left, err = j.Log, s.vault.broken
	s.vault.mu.Unlock()
	if err != nil {
		return answer{}, err
	}
	return s.sendLog(a, j.ID, q.From, left)
}

// turn waits until a part of the job's log may leave. How soon is the user's doing, not the program's.
func (s *service) turn(ctx context.Context, job string) error {
	now := s.vault.now()
	if last, ok := s.logged.Load(job); ok {
		if wait := partEvery - now.Sub(last.(time.Time)); wait > 0 {
			select {
			case <-time.After(min(wait, partEvery)):
			case <-ctx.Done():
				return wire.Fail(wire.Unavailable, "try again", "sluice-vaultd stops")
			}
		}
	}
	s.logged.Store(job, s.vault.now())
	return nil
}

// release counts the next part of the log, whose copy is made before. It changes nothing if there is none, or no
// room for it. again: nothing of the part was printable, and there may be more.
func (s *service) release(a *answer, who caller, q wire.Request, j *vault.Job) (again bool, err error) {
	s.vault.mu.Lock()
	ended, runs := j.State == wire.StateEnded, j.State == wire.StateEnded || j.State == wire.StateStarted
	from, at := j.LogRaw, j.Log
	room := min(s.vault.state.Room(j.ID, j.User, j.Sets, s.vault.now())-vault.LogCost(0), int64(s.site.Data.Log)-at)
	s.vault.mu.Unlock()
	if !runs {
		return false, nil
	}
	raw, whole, err := s.rawLog(j.ID, from)
	if err != nil {
		return false, err
	}
	a.Over = room < utf8.UTFMax // whatever is in the log: when it grows would tell something that nothing counts
	if a.Over || len(raw) == 0 {
		a.Ended = ended && whole
		return false, nil
	}
	text, used := vault.Printable(raw, int(min(room, mostPart)), ended && whole)
	if used == 0 {
		return false, nil
	}
	if err := s.keepLog(j.ID, at, text); err != nil {
		return false, err
	}
	cost := vault.LogCost(int64(len(text)))
	s.vault.mu.Lock()
	defer s.vault.mu.Unlock()
	if err := s.reads(who, q, j); err != nil {
		return false, err
	}
	if !s.vault.state.Fits(j, cost, s.vault.now()) { // another job of the user took it meanwhile
		a.Over = true
		return false, nil
	}
	return len(text) == 0, s.vault.write(vault.Entry{Event: vault.Logged, Job: j.ID, Size: int64(len(text)), Raw: int64(used), Cost: cost})
}

// rawLog reads what the job wrote from that byte on, in part; whole is whether that is all there is.
func (s *service) rawLog(job string, from int64) (raw []byte, whole bool, err error) {
	dir, err := s.own(job, "")
	if err != nil {
		return nil, false, err
	}
	defer dir.Close()
	file, _, err := dir.Open(logName)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, true, nil
	}
	if err != nil {
		return nil, false, wire.Fail(wire.Conflict, "tell your administrators", "the log cannot be read: %v", err)
	}
	defer file.Close()
	if _, err := file.Seek(from, io.SeekStart); err != nil {
		return nil, false, err
	}
	raw, err = io.ReadAll(io.LimitReader(file, mostPart+1))
	if len(raw) > mostPart {
		return raw[:mostPart], false, err
	}
	return raw, true, err
}

// own opens a folder below a job's, in which only what belongs to the service account is opened, and no links are
// followed; "" = the job's own.
func (s *service) own(job, name string) (*checkpoint.Dir, error) {
	jobs, err := checkpoint.OpenDir(s.vault.jobFolder(""))
	if err != nil {
		return nil, err
	}
	defer jobs.Close()
	dir, err := jobs.Owned(job, s.uid)
	if err != nil || name == "" {
		return dir, err
	}
	defer dir.Close()
	return dir.Owned(name, s.uid)
}

// keepLog puts a part of the log into the copy, at that byte. What a crash left there is replaced: it was not counted.
func (s *service) keepLog(job string, at int64, text []byte) error {
	file, err := os.OpenFile(s.releasedLog(job), os.O_WRONLY|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	err = file.Truncate(at)
	if err == nil {
		_, err = file.WriteAt(text, at)
	}
	return errors.Join(err, file.Sync(), file.Close(), syncFolder(filepath.Dir(file.Name())))
}

func (s *service) releasedLog(job string) string {
	return filepath.Join(s.vault.jobFolder(job), releasedName, logName)
}

// sendLog sends what has left of the log from that byte on, of left bytes.
func (s *service) sendLog(a answer, job string, from, left int64) (answer, error) {
	if from >= left {
		return a, nil
	}
	file, err := os.Open(s.releasedLog(job))
	if err != nil {
		return answer{}, err
	}
	if _, err := file.Seek(from, io.SeekStart); err != nil {
		file.Close()
		return answer{}, err
	}
	a.Size = min(left-from, mostPart)
	a.Next, a.body = from+a.Size, file
	if a.Next < left {
		a.Ended, a.Over = false, false
	}
	return a, nil
}
