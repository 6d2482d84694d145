package terminal

import (
	"bytes"
	"os"
	"testing"
	"time"
)

// TestMeter: quiet for two seconds and without a terminal; then one line, harmless and no wider than
// the terminal, which is removed in the end.
func TestMeter(t *testing.T) {
	var b bytes.Buffer
	now := time.Date(2026, 3, 4, 12, 0, 0, 0, time.UTC)
	m := NewMeterOn(&b, 60, func() time.Time { return now })
	show := func(after time.Duration, part float64, text string) string {
		b.Reset()
		now = now.Add(after)
		m.Show(part, text)
		return b.String()
	}
	for _, c := range []struct {
		after time.Duration
		part  float64
		text  string
		want  string
	}{
		{1900 * time.Millisecond, 0.5, "early", ""},
		{8100 * time.Millisecond, 0.5, "a\x1b[2J", "\r\x1b[K[==========          ]  50%, about 0:10 left  a\\x1b[2J"},
		{50 * time.Millisecond, 0.6, "too soon", ""},
		{time.Second, 0, "x", "\r\x1b[K[                    ]   0%  x"},
		{time.Second, 2, "over", "\r\x1b[K[====================] 100%, about 0:00 left  over"},
		{time.Second, -1, "starting Slurm", "\r\x1b[K0:13  starting Slurm"},
		{time.Second, -1, "a text that is much too long for such a narrow terminal of 60 columns", "\r\x1b[K0:14  a text that is much too long for such a narrow termin"},
	} {
		if got := show(c.after, c.part, c.text); got != c.want {
			t.Errorf("%+v: %q", c, got)
		}
	}
	b.Reset()
	if m.Clear(); b.String() != "\r\x1b[K" {
		t.Errorf("%q", b.String())
	}
	b.Reset()
	m.Clear()
	none := NewMeterOn(&b, 0, func() time.Time { now = now.Add(time.Hour); return now })
	none.Show(0.5, "x")
	Busy(&b, "x")()
	if b.Len() > 0 {
		t.Errorf("without a terminal %q", b.String())
	}
}

// TestMeterOnAnyTerminal: a terminal that does not know its width, as one of a container, shows
// progress; a file or a pipe does not.
func TestMeterOnAnyTerminal(t *testing.T) {
	terminal, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		t.Skip("NOT TESTED: no pseudo terminal here: ", err)
	}
	defer terminal.Close()
	file, err := os.CreateTemp(t.TempDir(), "")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if wide, none := NewMeter(terminal).columns, NewMeter(file).columns; wide != 80 || none != 0 {
		t.Errorf("%d columns on a terminal, %d in a file; want 80 and 0", wide, none)
	}
}
