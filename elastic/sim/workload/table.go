package workload

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"
)

// maxFile bounds what is read of one file of a recording, in bytes.
const maxFile = 1 << 30

// table is a file of comma-separated values under a line of column names, read
// row by row. Errors of a cell name file, line and column.
type table struct {
	path    string
	names   []string
	columns map[string]int
	rows    *csv.Reader
	row     []string
	err     error
}

// openTable reads the names and checks that those needed are there. A name may
// offer spellings, "submit_time|submission_time"; the cell is then asked for by
// the whole of it.
func openTable(path string, from io.Reader, needed ...string) (*table, error) {
	t := &table{path: path, columns: map[string]int{}, rows: csv.NewReader(from)}
	t.rows.ReuseRecord = true
	names, err := t.rows.Read()
	if errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("%s: empty; want a first line with the columns %s", path, strings.Join(needed, ","))
	}
	if err != nil {
		return nil, t.broken(err)
	}
	for i, n := range names {
		n = strings.TrimSpace(strings.TrimPrefix(n, "\ufeff"))
		t.names = append(t.names, n)
		t.columns[n] = i
	}
	for _, n := range needed {
		if err := t.need(n); err != nil {
			return nil, err
		}
	}
	return t, nil
}

func (t *table) need(name string) error {
	for _, spelling := range strings.Split(name, "|") {
		if i, ok := t.columns[spelling]; ok {
			t.columns[name] = i
			return nil
		}
	}
	return fmt.Errorf("%s:1: no column %s among %s", t.path,
		strings.ReplaceAll(name, "|", " or "), strings.Join(t.names, ","))
}

// next moves to the next row, and returns false at the end or after an error.
func (t *table) next() bool {
	if t.err != nil {
		return false
	}
	row, err := t.rows.Read()
	switch {
	case errors.Is(err, io.EOF):
		return false
	case err != nil:
		t.err = t.broken(err)
		return false
	}
	t.row = row
	return true
}

// broken is an error of the rows themselves.
func (t *table) broken(err error) error {
	var parse *csv.ParseError
	if !errors.As(err, &parse) {
		return fmt.Errorf("%s: %w", t.path, err)
	}
	if errors.Is(err, csv.ErrFieldCount) {
		return fmt.Errorf("%s:%d: want %d cells, as in line 1", t.path, parse.Line, len(t.names))
	}
	return fmt.Errorf("%s:%d:%d: %w", t.path, parse.Line, parse.Column, parse.Err)
}

func (t *table) line() int { line, _ := t.rows.FieldPos(0); return line }

func (t *table) text(name string) string { return strings.TrimSpace(t.row[t.columns[name]]) }

// whole returns the cell as a whole number from low to high.
func (t *table) whole(name string, low, high int) int {
	n, err := strconv.Atoi(t.text(name))
	if err != nil || n < low || n > high {
		t.bad(name, fmt.Sprintf("want a whole number from %d to %d", low, high))
		return low
	}
	return n
}

// number returns the cell as a number from low to high.
func (t *table) number(name string, low, high float64) float64 {
	x, err := strconv.ParseFloat(t.text(name), 64)
	if err != nil || !(x >= low && x <= high) {
		t.bad(name, fmt.Sprintf("want a number from %g to %g", low, high))
		return low
	}
	return x
}

// century is the latest time a recording may speak of, in seconds.
const century = 100 * 366 * 24 * 3600

// seconds returns the cell, in seconds, as a time.
func (t *table) seconds(name string) time.Duration {
	return toDuration(t.number(name, 0, century))
}

func toDuration(seconds float64) time.Duration {
	return time.Duration(math.Round(seconds * float64(time.Second)))
}

// bad remembers the first wrong cell.
func (t *table) bad(name, want string) {
	if t.err != nil {
		return
	}
	line, column := t.rows.FieldPos(t.columns[name])
	t.err = fmt.Errorf("%s:%d:%d: %s is %q; %s", t.path, line, column, t.names[t.columns[name]], cut(t.text(name)), want)
}

// cut shortens what an error quotes.
func cut(s string) string {
	if len(s) > 40 {
		return s[:40] + "..."
	}
	return s
}

// readAll returns a whole file of at most maxFile bytes.
func readAll(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err == nil && len(data) > maxFile {
		err = fmt.Errorf("%s: larger than %d MiB", path, maxFile>>20)
	}
	return data, err
}

// readTable opens a table in a file.
func readTable(path string, needed ...string) (*table, error) {
	data, err := readAll(path)
	if err != nil {
		return nil, err
	}
	return openTable(path, bytes.NewReader(data), needed...)
}

// recorded is the workload of a list of jobs, in any order.
func recorded(name, note string, jobs []Job) Workload {
	slices.SortStableFunc(jobs, func(a, b Job) int { return int(sign(a.Submit - b.Submit)) })
	return Workload{Name: name, Note: note, Count: len(jobs), Jobs: slices.Values(jobs)}
}

func sign(d time.Duration) time.Duration { return min(1, max(-1, d)) }
