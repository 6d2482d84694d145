package exact

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"
)

// walk is the sequence of sizes of the exactness table; each is trained on for some
// steps.
var walk = []int{1, 2, 3, 4, 6, 4, 2, 6, 1, 3}

// table is the result of the resized training.
type table struct {
	comparison
	precision
	resizes int
}

// exactness trains one job through the sizes of walk and compares.
func exactness(ctx context.Context, o Options, s *story, p precision) (tab table, err error) {
	tab.precision = p // also if the table could not be completed
	t, err := newTrial(ctx, o, s, 0, p)
	if err != nil {
		return tab, err
	}
	defer func() { err = errors.Join(err, t.close(ctx)) }()
	j, err := t.submit(ctx, "--emulate-step-seconds", "0.12")
	if err != nil {
		return tab, err
	}
	for _, size := range walk {
		if err := j.pin(ctx, size); err != nil {
			return tab, err
		}
		if err := j.trainsAt(ctx, size, 20); err != nil {
			return tab, err
		}
		t.tell("job %d trains on %d GPU(s)", j.id, size)
	}
	if err := j.ends(ctx); err != nil {
		return tab, err
	}
	log, err := j.records()
	tab.comparison = compare(log, p.reference, p.bound)
	tab.resizes = len(tab.Worlds) - 1
	return tab, err
}

// print prints a line for each size.
func (t table) print(w io.Writer) {
	if t.Steps == 0 {
		return
	}
	fmt.Fprintf(w, "\nLosses of a resized DDP training (PyTorch, gloo, %s) beside those of one never resized, step by step.\nSizes in turn: %s\n\n", t.name, words(t.Worlds))
	t.printSizes(w, t.bound)
}

func (c comparison) printSizes(w io.Writer, bound float64) {
	fmt.Fprintf(w, "%8s %8s %18s\n", "GPUs", "steps", "largest difference")
	for _, world := range slices.Sorted(maps.Keys(c.ByWorld)) {
		fmt.Fprintf(w, "%8d %8d %18.2g\n", world, c.ByWorld[world].Steps, c.ByWorld[world].Off)
	}
	fmt.Fprintf(w, "%8s %8d %18.2g   (bound %.0g)\n\n", "all", c.Steps+c.Repeated, c.Off, bound)
}

// verdict prints the line of figures and returns an error for violations.
func (t table) verdict(w io.Writer) error {
	fmt.Fprintf(w, "exact: numbers=%s resizes=%d steps=%d missing=%d repeated=%d wrong_losses=%d largest_difference=%.2g bound=%.0g\n",
		t.name, t.resizes, t.Steps, t.Missing, t.Repeated, t.Wrong, t.Off, t.bound)
	if t.resizes < 5 || t.Missing > 0 || t.Repeated > 0 || t.Wrong > 0 {
		return fmt.Errorf("exactness: %d resizes (want 5), %d steps missing, %d repeated, %d wrong losses", t.resizes, t.Missing, t.Repeated, t.Wrong)
	}
	return nil
}

func words(sizes []int) string {
	return strings.Trim(fmt.Sprint(sizes), "[]")
}

// pause waits, or returns early with the context's error.
func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}
