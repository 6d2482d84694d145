package sweep

import (
	"io/fs"
	"testing"
)

// answers is a sweep's folder.
type answers map[string]string

func (a answers) Names(int) (names []string, err error) {
	for name := range a {
		names = append(names, name)
	}
	return names, nil
}

func (a answers) Read(name string, _ int64) ([]byte, error) {
	if a[name] == "" {
		return nil, fs.ErrPermission
	}
	return []byte(a[name]), nil
}

// TestAtOnce: the least of the answers for different numbers of GPUs counts, and no file that is not one.
func TestAtOnce(t *testing.T) {
	other := `{"version":1,"gpus":1,"type":"t4","trials":1}`
	two, four := `{"version":1,"gpus":2,"trials":2}`, `{"version":1,"gpus":1,"trials":4}`
	for name, c := range map[string]struct {
		perGPU int
		folder answers
		want   int
		read   int
	}{
		"not measured":                    {4, answers{}, 1, 0},
		"one answer":                      {4, answers{"sharing.1.json": four}, 4, 1},
		"two":                             {4, answers{"sharing.1.json": four, "sharing.2.json": two}, 2, 2},
		"more than the sweep accepts":     {3, answers{"sharing.1.json": four}, 3, 1},
		"two types":                       {4, answers{"sharing.1.t4.json": other, "sharing.1.json": four}, 1, 2},
		"an odd type, and a newer sluice": {4, answers{"sharing.1.json": four, "sharing.1.x.json": `{"version":1,"gpus":1,"type":"../x","trials":1}`, "sharing.1.t4.json": `{"version":2,"gpus":1,"type":"t4","trials":1}`}, 4, 1},
		"what cannot be read":             {4, answers{"sharing.1.json": four, "sharing.2.json": "", "sharing.3.json": `{"trials":0}`, "sweep.json": two}, 4, 1},
	} {
		all := Sharings(c.folder)
		if got := (Sweep{PerGPU: c.perGPU}).AtOnce(all); got != c.want || len(all) != c.read {
			t.Errorf("%s: %d of %+v, want %d of %d", name, got, all, c.want, c.read)
		}
		for i := 1; i < len(all); i++ {
			if all[i].GPUs < all[i-1].GPUs {
				t.Errorf("%s: the order is %+v", name, all)
			}
		}
	}
}
