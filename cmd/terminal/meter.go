package terminal

import (
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// meterAfter is how long a command is quiet before it shows its progress.
	meterAfter = 2 * time.Second
	// meterPause is the least time between two drawings.
	meterPause = 100 * time.Millisecond
	// meterWide is the columns of the bar.
	meterWide = 20
)

// Meter is one line on a terminal with the progress of a command that takes longer than two
// seconds. It prints nothing without a terminal. It is safe for concurrent use.
type Meter struct {
	mu      sync.Mutex
	w       io.Writer
	columns int
	now     func() time.Time
	began   time.Time
	shown   time.Time // when the present line was drawn; zero = none
}

// NewMeter returns a meter for something that begins now.
func NewMeter(w io.Writer) *Meter { return NewMeterOn(w, meterRoom(w), time.Now) }

// NewMeterOn is NewMeter for a terminal of that many columns and another clock; with 0 columns
// nothing is shown.
func NewMeterOn(w io.Writer, columns int, now func() time.Time) *Meter {
	return &Meter{w: w, columns: columns, now: now, began: now()}
}

// meterRoom is the width of the terminal, 0 without one. A terminal that does not report its
// width, for example in a container, has the usual 80.
func meterRoom(w io.Writer) int {
	if f, ok := w.(*os.File); ok {
		if size, err := unix.IoctlGetWinsize(int(f.Fd()), unix.TIOCGWINSZ); err == nil && size.Col == 0 {
			return 80
		}
	}
	return Room(w)
}

// Shows reports whether there is a terminal to show progress on.
func (m *Meter) Shows() bool { return m.columns > 0 }

// Show shows which part, from 0 to 1, is done, and what is being done; a negative part is not
// known. The least important should be last in the text: a narrow terminal cuts it off.
func (m *Meter) Show(part float64, text string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	now := m.now()
	if m.columns == 0 || now.Sub(m.began) < meterAfter || now.Sub(m.shown) < meterPause {
		return
	}
	m.shown = now
	fmt.Fprint(m.w, "\r\x1b[K"+Cut(meterLine(part, now.Sub(m.began), Escape(text)), m.columns-1))
}

// meterLine is "[=======             ]  34%, about 0:12 left  TEXT", or "0:12  TEXT" if the part is
// not known.
func meterLine(part float64, took time.Duration, text string) string {
	if part < 0 {
		return Clock(took) + "  " + text
	}
	part = min(part, 1)
	line := fmt.Sprintf("[%-*s] %3.0f%%", meterWide, strings.Repeat("=", int(part*meterWide)), 100*part)
	if part > 0.02 {
		line += fmt.Sprintf(", about %s left", Clock(time.Duration(float64(took)*(1-part)/part)))
	}
	return line + "  " + text
}

// Clear removes the line, so that something else can be printed.
func (m *Meter) Clear() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.shown.IsZero() {
		fmt.Fprint(m.w, "\r\x1b[K")
		m.shown = time.Time{}
	}
}

// Busy shows for how long something has been done of which no part is known, until stop is
// called, which removes the line.
func Busy(w io.Writer, text string) (stop func()) {
	m := NewMeter(w)
	if !m.Shows() {
		return func() {}
	}
	end, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		tick := time.NewTicker(time.Second)
		defer tick.Stop()
		for {
			select {
			case <-end:
				return
			case <-tick.C:
				m.Show(-1, text)
			}
		}
	}()
	return sync.OnceFunc(func() { close(end); <-ended; m.Clear() })
}
