package control

import "testing"

// TestNodes: addresses among which one machine may choose count as one.
func TestNodes(t *testing.T) {
	for address, want := range map[string]string{
		"10.0.0.7:41":                 "10.0.0.7",
		"[::ffff:10.0.0.7]:41":        "10.0.0.7",
		"[::1]:41":                    "::1",
		"[2001:db8:1:2:3:4:5:6]:41":   "2001:db8:1:2::/64",
		"[2001:db8:1:2:ffff::1]:42":   "2001:db8:1:2::/64",
		"[2001:db8:1:3:ffff::1]:42":   "2001:db8:1:3::/64",
		"[fe80::1%eth0]:42":           "fe80::1%eth0",
		"/run/sluice/sluiced.socket@": "/run/sluice/sluiced.socket@",
	} {
		if got := nodeOf(address); got != want {
			t.Errorf("%s counts for %s, want %s", address, got, want)
		}
	}
}
