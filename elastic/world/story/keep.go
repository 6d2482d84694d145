package story

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"

	"github.com/sluice-hpc/sluice/checkpoint"
	"github.com/sluice-hpc/sluice/elastic/world"
	"github.com/sluice-hpc/sluice/slurm"
)

// kept are a job's checkpoints on a real disk, written, committed and read by the code of real jobs.
type kept struct {
	dir string
	id  checkpoint.Identity
}

// keep makes the folder of a job's checkpoints.
func keep(folder string, job slurm.JobID, token string) (world.Series, error) {
	k := &kept{dir: filepath.Join(folder, token), id: checkpoint.Identity{Job: int64(job), Token: token}}
	return k, os.MkdirAll(k.dir, 0o700)
}

// with calls do with the opened series.
func (k *kept) with(do func(*checkpoint.Series) error) error {
	d, err := checkpoint.OpenDir(k.dir)
	if err != nil {
		return err
	}
	return errors.Join(do(checkpoint.NewSeries(d, k.id)), d.Close())
}

// Names and sizes of a checkpoint's files. The second is two sectors of a disk.
var parts = []struct {
	path string
	size int
}{{"model.pt", 300}, {"optimizer/state.pt", 1024}}

// write writes a checkpoint's files without its manifest.
func (k *kept) write(name string) error {
	for i, part := range parts {
		p := filepath.Join(k.dir, name, part.path)
		if err := os.MkdirAll(filepath.Dir(p), 0o700); err != nil {
			return err
		}
		text := bytes.Repeat([]byte(fmt.Sprintf("%s %d ", name, i)), part.size)[:part.size]
		if err := os.WriteFile(p, text, 0o600); err != nil {
			return err
		}
	}
	return nil
}

// Commit saves and commits a checkpoint. It first removes what a power loss left under its name, as a
// real job does.
func (k *kept) Commit(name string) error {
	if err := errors.Join(os.RemoveAll(filepath.Join(k.dir, name)), k.write(name)); err != nil {
		return err
	}
	return k.with(func(s *checkpoint.Series) error {
		return s.Commit(context.Background(), name, checkpoint.Manifest{GPUs: 1})
	})
}

// Newest returns the result of the real code.
func (k *kept) Newest() (name string, skipped []string, err error) {
	err = k.with(func(s *checkpoint.Series) error {
		c, passed, err := s.Newest(context.Background())
		for _, p := range passed {
			skipped = append(skipped, p.String())
		}
		name = c.Name
		return err
	})
	return name, skipped, err
}

// Abandon leaves a checkpoint whose writer's node lost power: its folder may be missing, its files
// may lack sectors, and there is no manifest, which is written last.
func (k *kept) Abandon(name string, way uint64) error {
	rng := rand.New(rand.NewPCG(way, 0xaba))
	if rng.IntN(4) == 0 {
		return nil
	}
	if err := k.write(name); err != nil {
		return err
	}
	for _, part := range parts {
		if err := cut(filepath.Join(k.dir, name, part.path), rng); err != nil {
			return err
		}
	}
	if rng.IntN(2) == 0 { // the manifest's own temporary file
		return os.WriteFile(filepath.Join(k.dir, name, checkpoint.ManifestFile+".sluice-tmp"), []byte(`{"version":1,`), 0o600)
	}
	return nil
}

// cut truncates a file as a power loss may: not at all, to a part, to zeros, or to nothing.
func cut(path string, rng *rand.Rand) error {
	raw, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	switch rng.IntN(5) {
	case 0:
		return os.Remove(path)
	case 1:
		raw = raw[:rng.IntN(len(raw))]
	case 2:
		clear(raw[rng.IntN(len(raw)):])
	case 3:
		raw = nil
	}
	return os.WriteFile(path, raw, 0o600)
}

// Spoil damages a checkpoint's files or its manifest. It never removes the whole checkpoint, because
// the records would not distinguish that from a checkpoint that was overlooked.
func (k *kept) Spoil(name string, way uint64) error {
	rng := rand.New(rand.NewPCG(way, 0x5b01))
	dir := filepath.Join(k.dir, name)
	data := filepath.Join(dir, parts[rng.IntN(len(parts))].path)
	if rng.IntN(2) == 0 {
		return k.forge(filepath.Join(dir, checkpoint.ManifestFile), rng)
	}
	switch rng.IntN(5) {
	case 0:
		return os.Remove(filepath.Join(dir, checkpoint.ManifestFile)) // as if it was never committed
	case 1:
		return os.Remove(data)
	case 2:
		return errors.Join(os.Remove(data), os.Symlink("/etc/passwd", data))
	}
	raw, err := os.ReadFile(data)
	if err != nil {
		return err
	}
	if at := rng.IntN(len(raw)); rng.IntN(2) == 0 {
		raw[at] ^= 1 << rng.IntN(8)
	} else {
		raw = raw[:at]
	}
	return os.WriteFile(data, raw, 0o600)
}

// forge makes a manifest malformed or implausible.
func (k *kept) forge(path string, rng *rand.Rand) error {
	raw, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	var m map[string]any
	if err := json.Unmarshal(raw, &m); err != nil {
		return err
	}
	file := m["files"].([]any)[0].(map[string]any)
	n := rng.IntN(14)
	switch n {
	case 0:
		return os.Remove(path)
	case 1:
		return os.WriteFile(path, raw[:rng.IntN(len(raw)-1)], 0o600)
	case 2:
		return os.WriteFile(path, bytes.Repeat([]byte("["), 5000), 0o600)
	case 3:
		return os.WriteFile(path, append(raw, raw...), 0o600)
	case 4:
		m["job"] = k.id.Job + 1
	case 5:
		m["token"] = "ffffffffffffffffffffffffffffffff"
	case 6:
		m["sequence"] = 1 + rng.IntN(3) + 90000000
	case 7:
		m["version"] = 99
	case 8:
		m["files"] = nil
	case 9:
		file["path"] = "../../../../etc/passwd"
	case 10:
		file["size"] = -1
	case 11:
		file["sha256"] = "0000000000000000000000000000000000000000000000000000000000000000"
	case 12:
		file["size"] = 1 << 60
	case 13:
		m["restarts"] = "many"
	}
	if raw, err = json.Marshal(m); err != nil {
		return err
	}
	return os.WriteFile(path, raw, 0o600)
}

// powerFails simulates a power loss of a node: a checkpoint that is being saved is torn, and Slurm
// notices that the node is down.
func (p *play) powerFails(a Act) {
	for _, job := range p.jobs {
		if job == nil || !job.On(a.Node) {
			continue
		}
		if err := job.PowerFails(a.Way); err != nil {
			p.broken("F2 a checkpoint could not be torn: %v", err)
		}
	}
	p.w.Slurm.NodeDown(a.Node, "a story")
}
