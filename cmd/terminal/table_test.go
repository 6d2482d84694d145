package terminal

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
		tab := Table{Room: room, Columns: []Column{Right("JOBID"), Left("NAME"), Left("REASON")}}
		tab.Add("7", name, reason)
		var b bytes.Buffer
		if err := tab.Write(&b); err != nil {
			t.Fatal(err)
		}
		line := strings.Split(b.String(), "\n")[1]
		if whole := strings.Contains(line, name) && strings.Contains(line, reason); whole != (room == 0) || room > 0 && (len(line) > room || !strings.Contains(line, reason[:20])) {
			t.Errorf("room %d: %q", room, line)
		}
	}
}

// TestEmptyColumnsGiveWay: where a terminal is too narrow for the reason, columns in which
// no row says anything are left out; elsewhere they stay.
func TestEmptyColumnsGiveWay(t *testing.T) {
	for _, tc := range []struct {
		Room  int
		speed string
		want  string
	}{
		{64, "-", "JOBID  NAME      USER       GPUS  REASON"},
		{64, "20.1s/ep", "JOBID  NAME      USER       GPUS  SPEED     REASON"},
		{200, "-", "JOBID  NAME                            USER       GPUS  SPEED  ETA  REASON"},
		{0, "-", "JOBID  NAME                            USER       GPUS  SPEED  ETA  REASON"},
	} {
		tab := Table{Room: tc.Room, Columns: []Column{Right("JOBID"), Left("NAME"), Left("USER"), Left("GPUS"),
			Left("SPEED"), Left("ETA"), Left("REASON")}}
		for range 2 {
			tab.Add("7", strings.Repeat("n", 30), "somebody1", "1/1", tc.speed, "-", strings.Repeat("why ", 12))
		}
		tab.Add("8", strings.Repeat("n", 30), "somebody1", "1/1", "-", "-", strings.Repeat("why ", 12))
		var b bytes.Buffer
		if err := tab.Write(&b); err != nil {
			t.Fatal(err)
		}
		lines := strings.Split(b.String(), "\n")
		if lines[0] != tc.want {
			t.Errorf("room %d: %q, want %q", tc.Room, lines[0], tc.want)
		}
		for _, line := range lines {
			if tc.Room > 0 && len(line) > tc.Room {
				t.Errorf("room %d: %q", tc.Room, line)
			}
		}
	}
}

// TestWideCharactersAlign: columns are counted as a terminal draws them.
func TestWideCharactersAlign(t *testing.T) {
	tab := Table{Room: 24, Columns: []Column{Left("PARTITION").Down(6), Left("B"), Left("C")}}
	tab.Add("漢字漢字漢字漢字", "1", "x")
	tab.Add("e"+strings.Repeat("\u0301", 5), "2", strings.Repeat("y", 20))
	var b bytes.Buffer
	if err := tab.Write(&b); err != nil {
		t.Fatal(err)
	}
	want := "PARTITION  B  C\n漢字漢字   1  x\ne\u0301\u0301\u0301\\u0301\\u  2  yyyyyyyyy+\n"
	if b.String() != want {
		t.Errorf("%q, want %q", b.String(), want)
	}
	for text, n := range map[string]int{"": 0, "a漢": 3, "e\u0301": 1} {
		if Width(text) != n || Cut(text, n) != text {
			t.Errorf("%q: %d, %q", text, Width(text), Cut(text, n))
		}
	}
	if got := Cut("a漢字", 2); got != "a" {
		t.Errorf("half of a character: %q", got)
	}
}
