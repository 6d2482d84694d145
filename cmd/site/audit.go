package site

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"time"

	"github.com/sluice-hpc/sluice/elastic/audit"
)

// patience is how long sluiced may take to notice a change on a site: its periods are
// seconds here, but test machines are slow.
const patience = 15 * time.Second

// Audit stops sluiced and compares its event log with Slurm's own records. It needs [log]
// format = "json" and level = "debug". The error says what could not be read; violations
// are in the report.
func (s *Site) Audit(ctx context.Context) (audit.Report, error) {
	places := audit.Site(s.Lab.Dir())
	// Without it (slurmctld may be down deliberately) the rest is audited.
	if shown, err := s.Run(ctx, "", "scontrol", "--oneliner", "show", "job"); err == nil {
		if err := os.WriteFile(places.Shown, []byte(shown+"\n"), 0o644); err != nil {
			return audit.Report{}, err
		}
	}
	if err := s.Stop(); err != nil {
		return audit.Report{}, err
	}
	evidence, err := audit.Read(places, time.Local)
	if err != nil {
		return audit.Report{}, err
	}
	return audit.Check(evidence, audit.Options{Patience: patience}), nil
}

// KeepRecords copies the files of an audit into a directory with the layout of the site,
// for "sluice lab audit".
func (s *Site) KeepRecords(dir string) error {
	from, to := audit.Site(s.Lab.Dir()), audit.Site(dir)
	var err error
	for _, pair := range [][2]string{{from.Events, to.Events}, {from.Controller, to.Controller},
		{from.Completions, to.Completions}, {from.Conf, to.Conf}, {from.Shown, to.Shown}} {
		b, readErr := os.ReadFile(pair[0])
		if errors.Is(readErr, os.ErrNotExist) {
			continue
		}
		err = errors.Join(err, readErr, os.MkdirAll(filepath.Dir(pair[1]), 0o755), os.WriteFile(pair[1], b, 0o644))
	}
	return err
}
