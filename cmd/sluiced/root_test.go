package main

import "testing"

// TestRootStartsNowhere: S8, root is refused in every mode but on a lab, and nobody
// else is. TestRootIsRefused asks the program itself, where the tests run as root.
func TestRootStartsNowhere(t *testing.T) {
	for _, o := range []options{{}, {user: true}, {config: "x"}, {config: "x", user: true}} {
		if err := refuseRoot(o, 0); err == nil {
			t.Errorf("%+v: root may start", o)
		}
		if err := refuseRoot(o, 1000); err != nil {
			t.Errorf("%+v: %v", o, err)
		}
	}
	if err := refuseRoot(options{lab: true}, 0); err != nil {
		t.Errorf("on a lab: %v", err)
	}
}
