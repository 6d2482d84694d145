package checkpoint

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strconv"
)

// What is wrong with a checkpoint. Test with errors.Is.
var (
	// ErrInvalid: its files are not what its manifest says, or the manifest is
	// another job's. It will not get better.
	ErrInvalid = errors.New("not a valid checkpoint")
	// ErrUnfinished: it has no manifest: being written, or its writer died.
	ErrUnfinished = errors.New("unfinished: no manifest")
)

// Identity is whose checkpoints they are. A manifest that says otherwise was
// copied from another job and is not valid.
type Identity struct {
	Job   int64
	Token string
}

// Series is the checkpoints of one job, numbered upwards. One program writes
// them, one runner reads and prunes them; both are the user.
type Series struct {
	dir *Dir
	id  Identity
}

// NewSeries returns the series kept in dir, which stays the caller's to close.
func NewSeries(dir *Dir, id Identity) *Series { return &Series{dir: dir, id: id} }

// Checkpoint is a checkpoint whose every byte was compared with its manifest.
// The zero value is none.
type Checkpoint struct {
	Name     string
	Manifest Manifest
	verified bool // only Verify sets it; Prune asks for it
}

// Skip is a checkpoint that was passed over, and why.
type Skip struct {
	Name string
	Err  error
}

// String is the skip as one line for people.
func (s Skip) String() string { return s.Name + ": " + clean(s.Err.Error(), maxText) }

// Names returns what is there, complete or not, newest first. Directories with
// other names than a sequence's are no checkpoints.
func (s *Series) Names() ([]string, error) {
	all, err := s.dir.Names(maxCheckpoints)
	if err != nil {
		return nil, err
	}
	names := slices.DeleteFunc(all, func(n string) bool { return !checkpointForm.fits(n) })
	slices.SortFunc(names, func(a, b string) int { return sequenceOf(b) - sequenceOf(a) })
	return names, nil
}

func sequenceOf(name string) int {
	n, _ := strconv.Atoi(name) // eight digits: cannot fail
	return n
}

// Manifest reads the manifest of one checkpoint without looking at its files.
// ErrUnfinished when there is none; ErrInvalid when it is not this job's.
func (s *Series) Manifest(name string) (Manifest, error) {
	dir, err := s.dir.Sub(name)
	if err != nil {
		return Manifest{}, err
	}
	defer dir.Close()
	return s.manifest(dir, name)
}

func (s *Series) manifest(dir *Dir, name string) (Manifest, error) {
	data, err := dir.Read(ManifestFile, maxManifest)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return Manifest{}, ErrUnfinished
	case errors.Is(err, ErrTooLarge), errors.Is(err, ErrNotRegular):
		return Manifest{}, invalid("%w", err)
	case err != nil:
		return Manifest{}, err
	}
	m, err := ParseManifest(data)
	switch {
	case errors.Is(err, ErrTooNew):
		return Manifest{}, err
	case err != nil:
		return Manifest{}, invalid("%w", err)
	case m.Job != s.id.Job || m.Token != s.id.Token:
		return Manifest{}, invalid("saved by job %d (%s), this is job %d (%s)", m.Job, m.Token, s.id.Job, s.id.Token)
	case Name(m.Sequence) != name:
		return Manifest{}, invalid("its manifest is that of checkpoint %s", Name(m.Sequence))
	}
	return m, nil
}

// invalid builds an error that is ErrInvalid beside what the format says.
func invalid(format string, args ...any) error {
	return fmt.Errorf("%w: %w", ErrInvalid, fmt.Errorf(format, args...))
}

// Newest returns the newest valid checkpoint and those newer than it that were
// passed over, newest first. A checkpoint with an empty name means that there is
// none. An error means that the question could not be answered: the folder
// cannot be listed, or ctx ended.
func (s *Series) Newest(ctx context.Context) (Checkpoint, []Skip, error) {
	names, err := s.Names()
	if err != nil {
		return Checkpoint{}, nil, err
	}
	var skipped []Skip
	for _, name := range names {
		c, err := s.Verify(ctx, name)
		if err == nil {
			return c, skipped, nil
		}
		if ctx.Err() != nil {
			return Checkpoint{}, skipped, ctx.Err()
		}
		skipped = append(skipped, Skip{Name: name, Err: err})
	}
	return Checkpoint{}, skipped, nil
}

// Commit closes a checkpoint whose files are written: it flushes and sums them,
// then writes the manifest, which makes it exist. Identity, sequence and files
// of m are filled in.
func (s *Series) Commit(ctx context.Context, name string, m Manifest) error {
	if !checkpointForm.fits(name) {
		return fmt.Errorf("checkpoint %q: want %s", name, checkpointWords)
	}
	dir, err := s.dir.Sub(name)
	if err != nil {
		return err
	}
	defer dir.Close()
	m.Version, m.Job, m.Token, m.Sequence = Version, s.id.Job, s.id.Token, sequenceOf(name)
	if m.Files, err = sumTree(ctx, dir); err != nil {
		return fmt.Errorf("checkpoint %s: %w", name, err)
	}
	data, err := json.MarshalIndent(m, "", " ")
	if err != nil {
		return err
	}
	if _, err := ParseManifest(data); err != nil {
		return err
	}
	if err := dir.Write(ManifestFile, data, 0o600); err != nil {
		return err
	}
	return s.dir.Sync()
}
