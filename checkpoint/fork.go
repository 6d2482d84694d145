package checkpoint

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
)

// Fork makes a checkpoint of the series from one of another series, by hard links, or copies where
// links are not possible, and verifies it: every byte is read before the manifest is written. It
// returns the name and the manifest. The other series may be pruned meanwhile, which is an error. A
// failure leaves no files behind.
func (s *Series) Fork(ctx context.Context, from *Series, name string) (string, Manifest, error) {
	there, err := from.dir.Sub(name)
	if err != nil {
		return "", Manifest{}, err
	}
	defer there.Close()
	m, err := from.manifest(there, name)
	if err != nil {
		return "", Manifest{}, err
	}
	own, err := s.next()
	if err != nil {
		return "", Manifest{}, err
	}
	dir, err := s.dir.Sub(own)
	if err != nil {
		return "", Manifest{}, err
	}
	defer dir.Close()
	if m, err = s.fork(ctx, there, dir, own, m); err != nil {
		return "", Manifest{}, errors.Join(fmt.Errorf("checkpoint %s: %w", name, err), dir.removeContent(), s.dir.Remove(own))
	}
	return own, m, s.dir.Sync()
}

func (s *Series) fork(ctx context.Context, from, to *Dir, own string, m Manifest) (Manifest, error) {
	t := taker{link: true}
	for _, file := range m.Files {
		err := from.within(file.Path, func(f *os.File, info fs.FileInfo) error { return t.take(ctx, f, info, to, file.Path) })
		if err != nil {
			return m, err
		}
	}
	if err := to.sumAll(ctx, m.Files); err != nil {
		return m, err
	}
	for _, file := range m.Files { // those that were copied, and the names
		if err := to.within(file.Path, func(f *os.File, _ fs.FileInfo) error { return f.Sync() }); err != nil {
			return m, err
		}
		if err := to.syncAbove(file.Path); err != nil {
			return m, err
		}
	}
	m.Job, m.Token, m.Sequence, m.Restarts, m.Request = s.id.Job, s.id.Token, sequenceOf(own), 0, ""
	data, err := json.MarshalIndent(m, "", " ")
	if err != nil {
		return m, err
	}
	if _, err := ParseManifest(data); err != nil {
		return m, err
	}
	return m, to.Write(ManifestFile, data, 0o600)
}

// syncAbove makes the last name of a path durable.
func (d *Dir) syncAbove(p string) error {
	above, _, err := d.Reach(p)
	if err != nil {
		return err
	}
	defer above.Close()
	return above.Sync()
}
