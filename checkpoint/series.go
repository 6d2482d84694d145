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

// Kinds of checkpoint errors. Test with errors.Is.
var (
	// ErrInvalid: its files do not match its manifest, or the manifest is another job's.
	// Permanent.
	ErrInvalid = errors.New("not a valid checkpoint")
	// ErrUnfinished: it has no manifest: it is being written, or its writer was killed.
	ErrUnfinished = errors.New("unfinished: no manifest")
)

// Identity is the job to which checkpoints belong. A manifest with another identity was
// copied from another job and is invalid.
type Identity struct {
	Job   int64
	Token string
}

// Series is the checkpoints of one job, in ascending order. One program writes them, one
// runner reads and prunes them; both run as the user.
type Series struct {
	dir *Dir
	id  Identity
}

// NewSeries returns the series kept in dir, which the caller still closes.
func NewSeries(dir *Dir, id Identity) *Series { return &Series{dir: dir, id: id} }

// Checkpoint is a checkpoint of which every byte was compared with its manifest. The zero
// value is none.
type Checkpoint struct {
	Name     string
	Manifest Manifest
	verified bool // only Verify sets it; Prune requires it
}

// Skip is a checkpoint that was not used, and the reason.
type Skip struct {
	Name string
	Err  error
}

// String is the skip as one line.
func (s Skip) String() string { return s.Name + ": " + clean(s.Err.Error(), maxText) }

// Names returns the existing checkpoints, complete or not, newest first. Directories
// whose name is not a sequence number are ignored.
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

// Manifest reads the manifest of one checkpoint without reading its files. ErrUnfinished
// if there is none; ErrInvalid if it is not this job's.
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

// invalid returns an error that is ErrInvalid with the formatted text.
func invalid(format string, args ...any) error {
	return fmt.Errorf("%w: %w", ErrInvalid, fmt.Errorf(format, args...))
}

// Newest returns the newest valid checkpoint and the newer ones that were not usable,
// newest first. A checkpoint with an empty name means that there is none. An error means
// that the result is unknown: the folder cannot be listed, or ctx ended.
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

// Commit completes a checkpoint whose files are written: it flushes and sums them, then
// writes the manifest, which makes it valid. Identity, sequence and files of m are filled
// in.
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
