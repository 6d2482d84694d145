package runner

import (
	"context"
	"path"

	"github.com/sluice-hpc/sluice/checkpoint"
)

func baseName(p string) string { return path.Base(p) }

// taken is an adopted checkpoint, or the reason why it could not be adopted.
type taken struct {
	from   sighting
	name   string // in the job's series
	copied bool
	err    error
}

// takeOver reads one of the program's checkpoints and adds it to the job's.
func (f folders) takeOver(ctx context.Context, h habit, s sighting, m checkpoint.Manifest, copied bool) taken {
	t := taken{from: s, copied: copied}
	base, err := checkpoint.OpenDir(h.base)
	if err != nil {
		t.err = err
		return t
	}
	defer base.Close()
	dir, name, err := base.Reach(s.path)
	if err != nil {
		t.err = err
		return t
	}
	defer dir.Close()
	t.err = f.series(func(series *checkpoint.Series) error {
		a := checkpoint.Adoption{Tree: s.tree, Copy: copied, Manifest: m, Request: f.relayed}
		t.name, err = series.Adopt(ctx, dir, name, a)
		return err
	})
	return t
}

// relayed is the request in the job's folder; "" if there is none.
func (f folders) relayed() string {
	data, err := readIn(f.jobDir, checkpoint.RequestFile)
	if err != nil || data == nil {
		return ""
	}
	request, err := checkpoint.ParseRequest(data)
	if err != nil {
		return ""
	}
	return request.ID
}
