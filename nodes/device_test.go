package nodes

import "testing"

func TestKeyAndLabel(t *testing.T) {
	for _, c := range []struct {
		of         Device
		key, label string
	}{
		{Device{Index: 3, UUID: "GPU-1a2b3c4d-aaaa-bbbb"}, "GPU-1a2b3c4d", "GPU 3 (GPU-1a2b3c4d)"},
		{Device{Index: 3, UUID: "GPU-1"}, "GPU-1", "GPU 3 (GPU-1)"},
		{Device{Index: 3}, "3", "GPU 3"},
		{Device{Index: 3, UUID: "MIG-1a2b3c4d", MIG: true}, "3", "GPU 3"},
	} {
		if c.of.Key() != c.key || c.of.Label() != c.label {
			t.Errorf("%+v: %q, %q", c.of, c.of.Key(), c.of.Label())
		}
	}
}
