package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"

	"github.com/sluice-hpc/sluice/checkpoint"
	"github.com/sluice-hpc/sluice/elastic/vault"
	"github.com/sluice-hpc/sluice/elastic/vault/wire"
)

// Bounds of what is looked at below $SLUICE_OUTPUT; what is beyond is More.
const (
	mostResults = 2000
	mostNames   = 10_000 // with folders, and names that cannot be told
	mostDeep    = 16
)

// results says what a job left in $SLUICE_OUTPUT, and sends what may leave. It answers only once the job has ended:
// otherwise how files change would tell more than what they count.
func (s *service) results(ctx context.Context, who caller, q wire.Request) (answer, error) {
	s.vault.mu.Lock()
	j, err := s.jobOf(who, q)
	s.vault.mu.Unlock()
	if err != nil {
		return answer{}, err
	}
	if err := s.settle(ctx, j); err != nil {
		return answer{}, err
	}
	defer s.alone(j.ID)()
	s.vault.mu.Lock()
	if err = s.reads(who, q, j); err == nil && j.State != wire.StateEnded {
		err = wire.Fail(wire.Conflict, "'sluice queue' shows how it is", "job %s has not ended, so none of its files leaves yet", q.Job)
	}
	s.vault.mu.Unlock()
	if err != nil {
		return answer{}, err
	}
	names, more, err := s.outputs(j.ID)
	if err != nil {
		return answer{}, err
	}
	a, l := answer{Answer: wire.Answer{ID: j.ID, More: more}}, &look{ctx: ctx}
	for _, name := range names {
		if q.File != "" && name != q.File {
			continue
		}
		f, told, err := s.result(l, who, q, j, name)
		if err == nil && ctx.Err() != nil {
			err = wire.Fail(wire.Unavailable, "try again", "sluice-vaultd stops")
		}
		switch {
		case err != nil:
			return answer{}, err
		case told:
			a.Files = append(a.Files, f)
		default:
			a.More = true
		}
	}
	if q.File != "" && len(a.Files) == 0 {
		a.More = a.More || !s.tells(j, q.File)
	}
	return s.pack(a, j.ID)
}

// tells reports whether the budget holds the name of a file, so that it would be told of if it were there. Without room the
// answer MUST be the same for a file that is not: else each name that is guessed would tell something that nothing counts.
func (s *service) tells(j *vault.Job, name string) bool {
	s.vault.mu.Lock()
	defer s.vault.mu.Unlock()
	return s.vault.state.Fits(j, vault.NameCost(name), s.vault.now())
}

// outputs lists the files below $SLUICE_OUTPUT. What is neither a file nor a folder is listed too: opening it is
// refused.
func (s *service) outputs(job string) (names []string, more bool, err error) {
	out, err := s.own(job, outName)
	if err != nil {
		return nil, false, err
	}
	defer out.Close()
	w := walk{left: mostNames}
	w.folder(out, "", 1)
	slices.Sort(w.names)
	return w.names, w.more, nil
}

// walk lists files.
type walk struct {
	names []string
	left  int // names in folders that may still be looked at
	more  bool
}

func (w *walk) folder(dir *checkpoint.Dir, at string, deep int) {
	names, err := dir.Names(mostResults + 1)
	if err != nil || deep > mostDeep {
		w.more = true
		return
	}
	slices.Sort(names)
	for _, name := range names {
		if w.left--; len(w.names) >= mostResults || w.left < 0 {
			w.more = true
			return
		}
		full := path.Join(at, name)
		info, err := dir.Lstat(name)
		switch {
		case err != nil || !vault.FileName(full):
			w.more = true
		case info.IsDir():
			sub, err := dir.Sub(name)
			if err != nil {
				w.more = true
				continue
			}
			w.folder(sub, full, deep+1)
			sub.Close()
		default:
			w.names = append(w.names, full)
		}
	}
}

// result decides about one file, and counts it, or its name, before it is told of. told is false if the
// budget does not even hold its name, or it cannot be read now and was never told of.
func (s *service) result(l *look, who caller, q wire.Request, j *vault.Job, name string) (f wire.File, told bool, err error) {
	s.vault.mu.Lock()
	known := j.Files[name]
	if known != nil {
		f = wire.File{Name: name, Size: known.Size, Digest: known.Digest, State: known.State, Changed: known.Changed}
	}
	leaves := s.vault.state.MayLeave(j, name)
	room := s.vault.state.Room(j.ID, j.User, j.Sets, s.vault.now())
	s.vault.mu.Unlock()
	if f.State == wire.FileReleased {
		if !f.Changed && s.differs(l, j.ID, f) {
			f.Changed, err = s.change(who, q, j, name)
		}
		return f, true, err
	}
	c, err := s.copy(l, j.ID, name, leaves, room)
	if errors.Is(err, errUnread) {
		if l.ctx.Err() == nil && !errors.Is(err, errEnough) {
			s.log.Warn().Err(err).Str("job", j.ID).Msg("a file cannot be read now")
		}
		return f, known != nil, s.drop(j.ID, name, leaves)
	}
	if err != nil {
		return f, false, err
	}
	f, told, err = s.count(who, q, j, c)
	if f.State != wire.FileReleased && err == nil {
		err = s.drop(j.ID, name, leaves)
	}
	return f, told, err
}

// change counts that a file has changed since it left, BEFORE that is told: which files are changed, a program may choose.
func (s *service) change(who caller, q wire.Request, j *vault.Job, name string) (told bool, err error) {
	s.vault.mu.Lock()
	defer s.vault.mu.Unlock()
	if err := s.reads(who, q, j); err != nil {
		return false, err
	}
	if !s.vault.state.Fits(j, vault.ChangeCost, s.vault.now()) {
		return false, nil
	}
	err = s.vault.write(vault.Entry{Event: vault.Changed, Job: j.ID, File: name, Cost: vault.ChangeCost})
	return err == nil, err
}

// drop removes the copy of a file that was copied and does not leave.
func (s *service) drop(job, name string, copied bool) error {
	if !copied {
		return nil
	}
	err := os.Remove(s.releasedFile(job, name))
	if errors.Is(err, fs.ErrNotExist) {
		return nil // it was not even begun
	}
	return err
}

// count decides about a file that was read, and records it.
func (s *service) count(who caller, q wire.Request, j *vault.Job, c copied) (f wire.File, told bool, err error) {
	s.vault.mu.Lock()
	defer s.vault.mu.Unlock()
	if err := s.reads(who, q, j); err != nil {
		return f, false, err
	}
	known, now := j.Files[c.name], s.vault.now()
	e := vault.Entry{Event: vault.Told, Job: j.ID, File: c.name, Size: c.size, Digest: c.digest, State: wire.FileRefused, Cost: vault.NameCost(c.name)}
	switch {
	case c.over:
		e.State, e.Digest = wire.FileOver, ""
	case c.plain:
		e.State = s.vault.state.Decide(j, c.name, c.digest)
	}
	if e.State == wire.FileReleased {
		e.State = wire.FileOver
		if cost := vault.FileCost(c.name, c.size, known != nil); c.kept && s.vault.state.Fits(j, cost, now) {
			e.Event, e.State, e.Cost = vault.Released, wire.FileReleased, cost
		}
	}
	f = wire.File{Name: c.name, Size: c.size, Digest: e.Digest, State: e.State} // what is told MUST be in the entry: it counts that
	if known != nil && known.State == e.State && known.Size == e.Size && known.Digest == e.Digest {
		return f, true, nil // it was told of, and counted, before
	}
	if !s.vault.state.Fits(j, e.Cost, now) {
		return f, false, nil
	}
	err = s.vault.write(e)
	return f, err == nil, err
}

// releasedFile is the copy of a file, by a name of its own: names of the program lead nowhere there.
func (s *service) releasedFile(job, name string) string {
	sum := sha256.Sum256([]byte(name))
	return filepath.Join(s.vault.jobFolder(job), releasedName, hex.EncodeToString(sum[:]))
}

// pack sends the copies of the files that have left, and only those.
func (s *service) pack(a answer, job string) (answer, error) {
	t := &tarOf{}
	for _, f := range a.Files {
		if f.State != wire.FileReleased {
			continue
		}
		if err := t.add(f, s.releasedFile(job, f.Name)); err != nil {
			return answer{}, err
		}
	}
	if len(t.parts) > 0 {
		a.Size, a.body = t.end(), t
	}
	return a, nil
}

// errChanged: what would be sent is not what was counted.
var errChanged = errors.New("a copy of a file that has left is not as it was counted: the vault's folder was changed")

// checked reports whether the copy has the size that was counted.
func checked(name string, size int64) error {
	info, err := os.Lstat(name)
	if err == nil && (!info.Mode().IsRegular() || info.Size() != size) || errors.Is(err, fs.ErrNotExist) {
		return errChanged
	}
	return err
}
