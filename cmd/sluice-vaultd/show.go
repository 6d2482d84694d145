package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"

	"github.com/sluice-hpc/sluice/elastic/vault"
	"github.com/sluice-hpc/sluice/elastic/vault/wire"
)

// showFile sends a file that is to be reviewed to the owner of the data set. It is theirs only if the job read no data of
// another owner, which could be in it. Nothing is counted: the owner has the data.
func (s *service) showFile(ctx context.Context, who caller, q wire.Request) (answer, error) {
	s.vault.mu.Lock()
	j, f, err := s.shows(who, q)
	s.vault.mu.Unlock()
	if err != nil {
		return answer{}, err
	}
	defer s.alone(j.ID)()
	file, info, err := s.file(j.ID, f.Name)
	if err != nil {
		return answer{}, wire.Fail(wire.Unavailable, "try again later", "the file %q of job %q cannot be read: %v", q.File, q.Job, err)
	}
	if info.Size() != f.Size { // BEFORE it is read: a sparse file may have any size
		return answer{}, errors.Join(otherContent(q), file.Close())
	}
	t := &tarOf{}
	if err := t.opened(f, file); err != nil {
		return answer{}, errors.Join(err, file.Close())
	}
	l := &look{ctx: ctx}
	from, err := l.of(file, f.Size)
	hash := sha256.New()
	if err == nil {
		_, err = io.Copy(hash, io.LimitReader(from, f.Size))
	}
	if err == nil {
		_, err = file.Seek(0, io.SeekStart)
	}
	switch {
	case err != nil:
	case hex.EncodeToString(hash.Sum(nil)) != f.Digest:
		err = otherContent(q)
	default:
		s.vault.mu.Lock()
		if _, _, err = s.shows(who, q); err == nil {
			err = s.vault.write(vault.Entry{Event: vault.Shown, By: who.name, Set: q.Name, Job: j.ID, File: f.Name, Digest: f.Digest})
		}
		s.vault.mu.Unlock()
	}
	if err != nil {
		return answer{}, errors.Join(err, t.Close())
	}
	a := answer{Answer: wire.Answer{ID: j.ID, Files: []wire.File{f}}, body: t}
	a.Size = t.end()
	return a, nil
}

func otherContent(q wire.Request) error {
	return wire.Fail(wire.Conflict, "wait until its user fetches results again", "the file %q of job %q has other content than what waits for you", q.File, q.Job)
}

// shows returns the file that the owner of a data set may be shown, with the size and the digest of what waits for them. The mutex must
// be held.
func (s *service) shows(who caller, q wire.Request) (*vault.Job, wire.File, error) {
	set, err := s.owned(who, q)
	if err != nil {
		return nil, wire.File{}, err
	}
	j, digest, err := s.reviewable(q, set)
	if err != nil {
		return nil, wire.File{}, err
	}
	if s.vault.state.Owners(j) > 1 {
		return nil, wire.File{}, wire.Fail(wire.Denied, "ask its user what it is", "job %q also read data of another owner, who would not see what you are shown", q.Job)
	}
	waits := j.Files[q.File]
	return j, wire.File{Name: q.File, Size: waits.SizeOf(set.Name, digest), Digest: digest, State: waits.State}, nil
}
