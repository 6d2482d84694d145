package main

import (
	"bytes"
	"strings"
	"testing"
)

// TestNamesGiveWay: on a terminal of 80 columns a long name is cut before the reason is;
// what goes elsewhere is never cut.
func TestNamesGiveWay(t *testing.T) {
	name, reason := strings.Repeat("n", 90), "waiting for 1 GPU: all 12 in use"
	for _, room := range []int{80, 0} {
		tab := table{room: room, columns: []column{{"JOBID", true, 0}, {"NAME", false, 0}, {"REASON", false, 0}}}
		tab.add("7", name, reason)
		var b bytes.Buffer
		if err := tab.write(&b); err != nil {
			t.Fatal(err)
		}
		line := strings.Split(b.String(), "\n")[1]
		if whole := strings.Contains(line, name) && strings.Contains(line, reason); whole != (room == 0) || room > 0 && (len(line) > room || !strings.Contains(line, reason[:20])) {
			t.Errorf("room %d: %q", room, line)
		}
	}
}
