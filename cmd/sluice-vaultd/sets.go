package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"syscall"

	"github.com/sluice-hpc/sluice/elastic/vault"
	"github.com/sluice-hpc/sluice/elastic/vault/wire"
)

// add takes a new data set.
func (s *service) add(who caller, q wire.Request) (answer, error) {
	if q.Set == nil {
		return answer{}, wire.Fail(wire.BadRequest, "", "the request names no data set")
	}
	release, err := vault.ParseRelease(q.Set.Release)
	if err != nil {
		return answer{}, wire.Fail(wire.BadRequest, "", "--release %s: %v", q.Set.Release, err)
	}
	set := vault.Set{Name: q.Set.Name, Owner: who.name, Path: q.Set.Path, Readers: q.Set.Readers, Release: release, Nodes: q.Set.Nodes, Kinds: q.Set.Kinds}
	if err := set.Check(); err != nil {
		return answer{}, wire.Fail(wire.BadRequest, "", "%v", err)
	}
	if !s.site.Data.MayAdd(who.name, set.Path) {
		s.vault.mu.Lock()
		defer s.vault.mu.Unlock()
		return answer{}, s.denied(who, q, "", "", wire.Fail(wire.Denied, "ask your administrators: [data] owners in sluice.toml",
			"%s is not below a folder whose data sets you may add", set.Path))
	}
	if err = s.groupsAre(set.Readers); err == nil { // without the mutex: a directory, and a file server, may hang
		err = s.usable(set.Path)
	}
	if err != nil {
		return answer{}, err
	}
	s.vault.mu.Lock()
	defer s.vault.mu.Unlock()
	if s.vault.state.Set(set.Name) != nil {
		return answer{}, wire.Fail(wire.Conflict, "choose another name", "there is a data set %q already", set.Name)
	}
	if s.vault.state.Taken(set.Path, who.name) != nil {
		return answer{}, wire.Fail(wire.Conflict, "ask your administrators", "%s is, or shares folders with, a data set of another owner", set.Path)
	}
	if err := s.vault.write(vault.Entry{Event: vault.Added, By: who.name, Set: set.Name, Path: set.Path, Readers: set.Readers, Release: release.Text, Nodes: set.Nodes, Kinds: set.Kinds}); err != nil {
		return answer{}, err
	}
	return setAnswer(s.vault.state.Set(set.Name), who.name), nil
}

// usable reports why a folder cannot be that of a data set: it must be the service account's alone, and
// no link may lead to it, which could lead elsewhere later.
func (s *service) usable(folder string) error {
	real, err := filepath.EvalSymlinks(folder)
	if err == nil && real != folder {
		return wire.Fail(wire.BadRequest, "name "+real, "%s leads over a symbolic link", folder)
	}
	if err == nil {
		err = errors.Join(private(folder), fixed(folder))
	}
	if err != nil {
		return wire.Fail(wire.BadRequest, "the folder belongs to the account "+s.site.Data.Account+", mode 0700", "the folder of the data set: %v", err)
	}
	if meeting(s.vault.dir, folder) {
		return wire.Fail(wire.BadRequest, "", "%s is, or shares folders with, [data] root", folder)
	}
	if listed := openTo(s.site.Data, folder); listed != "" {
		return wire.Fail(wire.BadRequest, "ask your administrators for a folder elsewhere", "every job on a data set could read %s: it shares folders with %s of [data] system or software",
			folder, listed)
	}
	return nil
}

// fixed reports a folder above, in which an account other than this one and root could put something else in the
// place of the data set's folder: another owner's data set, which this account can read.
func fixed(folder string) error {
	for dir := filepath.Dir(folder); ; dir = filepath.Dir(dir) {
		info, err := os.Lstat(dir)
		if err != nil {
			return err
		}
		stat, ok := info.Sys().(*syscall.Stat_t)
		foreign := !ok || stat.Uid != 0 && int(stat.Uid) != os.Geteuid()
		if foreign || info.Mode().Perm()&0o022 != 0 && info.Mode()&os.ModeSticky == 0 {
			return fmt.Errorf("others can exchange folders in %s (mode %04o); it must belong to root or the account of [data], and be writable to no other", dir, info.Mode().Perm())
		}
		if dir == "/" {
			return nil
		}
	}
}

// shown is a data set as that user sees it.
func shown(set *vault.Set, user string) *wire.Set {
	w := &wire.Set{Name: set.Name, Owner: set.Owner, Release: set.Release.Text, Nodes: set.Nodes, Kinds: set.Kinds}
	if user == set.Owner {
		w.Path, w.Readers = set.Path, slices.Clone(set.Readers)
	}
	return w
}

func setAnswer(set *vault.Set, user string) answer {
	return answer{Answer: wire.Answer{Set: shown(set, user)}}
}

// list shows the data sets that the caller owns or may read.
func (s *service) list(who caller) (answer, error) {
	s.vault.mu.Lock()
	defer s.vault.mu.Unlock()
	var a answer
	for _, set := range s.vault.state.Sets() {
		if set.MayRead(who.name, who.groups) {
			a.Sets = append(a.Sets, *shown(set, who.name))
		}
	}
	return a, nil
}

// show shows one, and to its owner what was done with it.
func (s *service) show(who caller, q wire.Request) (answer, error) {
	s.vault.mu.Lock()
	defer s.vault.mu.Unlock()
	set := s.vault.state.Set(q.Name)
	if set == nil || !set.MayRead(who.name, who.groups) {
		return answer{}, noSet(q.Name)
	}
	a := setAnswer(set, who.name)
	if set.Owner == who.name {
		a.Uses = s.vault.state.Uses(set.Name, s.vault.now())
	}
	return a, nil
}

// audit verifies the whole record, as it is on the disk, and sends the lines about the data set.
func (s *service) audit(who caller, q wire.Request) (answer, error) {
	s.vault.mu.Lock()
	set, err := s.owned(who, q)
	s.vault.mu.Unlock()
	if err == nil {
		err = s.gather(true, s.recent(set.Name)...)
	}
	if err != nil {
		return answer{}, err
	}
	s.vault.mu.Lock()
	written := vault.Verified{Lines: int(s.vault.lines), Last: s.vault.last, Bytes: s.vault.size}
	s.vault.mu.Unlock()
	record, err := os.Open(filepath.Join(s.vault.dir, recordName))
	if err != nil {
		return answer{}, err
	}
	defer record.Close()
	lines, err := os.CreateTemp(s.vault.dir, "audit-*")
	if err != nil {
		return answer{}, err
	}
	a := answer{body: lines}
	err = os.Remove(lines.Name())
	if err == nil {
		err = a.concerning(io.LimitReader(record, written.Bytes), lines, set.Name, written)
	}
	if err == nil {
		_, err = lines.Seek(0, io.SeekStart)
	}
	if err != nil {
		lines.Close()
		return answer{}, err
	}
	return a, nil
}

// concerning writes the lines of a record about a data set, and what Verify found, compared with what was written. What
// precedes a broken line is in the answer.
func (a *answer) concerning(record io.Reader, to io.Writer, set string, written vault.Verified) error {
	state := vault.NewState()
	found, err := vault.Verify(record, func(e vault.Entry, line []byte) error {
		if err := state.Apply(e); err != nil {
			return &vault.BrokenError{Line: int(e.N), Why: err.Error()}
		}
		if !state.Concerns(e, set) {
			return nil
		}
		n, err := to.Write(bytes.TrimSuffix(line, []byte("\n")))
		a.Size += int64(n) + 1
		if err == nil {
			_, err = to.Write([]byte("\n"))
		}
		return err
	})
	a.Lines, a.Whole = found.Lines, err == nil && found == written
	var broken *vault.BrokenError
	switch {
	case errors.As(err, &broken):
		a.Broken, err = broken.Line, nil
	case err == nil && !a.Whole: // the end was cut off, or all of it was written anew
		a.Broken = min(found.Lines+1, written.Lines)
	}
	return err
}
