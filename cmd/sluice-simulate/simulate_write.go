package main

import (
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/sluice-hpc/sluice/elastic/sim/report"
)

// write writes the report in the requested format.
func (o *simulateOptions) write(w io.Writer, runs []report.Run) error {
	switch o.output {
	case "json":
		return report.WriteJSON(w, runs)
	case "csv":
		return report.WriteCSV(w, runs)
	case "html":
		return report.WriteHTML(w, runs)
	}
	return report.WriteTable(w, runs)
}

// sink is the destination of a report. A file is opened before the simulations, so that a
// wrong path costs no time, and changed only when there is a report.
type sink struct {
	flag string // option that named it
	out  io.Writer
	file *os.File // nil = out
	made bool     // the file did not exist before
}

func openSink(flag, path string, out io.Writer) (*sink, error) {
	if path == "" {
		return &sink{flag: flag, out: out}, nil
	}
	_, err := os.Stat(path)
	made := errors.Is(err, os.ErrNotExist)
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE, 0o666)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", flag, err)
	}
	return &sink{flag: flag, file: f, made: made}, nil
}

// write writes the report to its destination.
func (s *sink) write(report func(io.Writer) error) error {
	if s.file == nil {
		return report(s.out)
	}
	if info, err := s.file.Stat(); err == nil && info.Mode().IsRegular() {
		if err := s.file.Truncate(0); err != nil {
			return fmt.Errorf("%s: %w", s.flag, err)
		}
	}
	if err := errors.Join(report(s.file), s.file.Close()); err != nil {
		return fmt.Errorf("%s: %w", s.flag, err)
	}
	return nil
}

// drop restores the state before.
func (s *sink) drop() error {
	if s.file == nil {
		return nil
	}
	err := s.file.Close()
	if s.made {
		err = errors.Join(err, os.Remove(s.file.Name()))
	}
	return err
}
