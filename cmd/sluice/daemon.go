package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"
	"unicode"
	"unicode/utf16"

	"github.com/spf13/cobra"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/control/client"
	"github.com/sluice-hpc/sluice/elastic/control/wire"
)

// daemonFor returns the daemon of the site in force.
func daemonFor(cmd *cobra.Command) (*client.Client, error) {
	c, err := siteFor(cmd)
	if err != nil {
		return nil, err
	}
	if cmd.Name() != "event" {
		tellRival(cmd)
	}
	return dial(c)
}

// each does something to every job and goes on after a failure, as Slurm's
// commands do; the errors come back together, each naming its job.
func each(jobs []elastic.JobID, do func(elastic.JobID) error) error {
	var errs []error
	for _, job := range jobs {
		if err := do(job); err != nil {
			errs = append(errs, named(job, err))
			if errors.Is(err, wire.ErrNoDaemon) {
				break // nor will the next one
			}
		}
	}
	return errors.Join(errs...)
}

// named makes sure that an error says which job it is about.
func named(job elastic.JobID, err error) error {
	if strings.Contains(err.Error(), fmt.Sprint(job)) {
		return err
	}
	return fmt.Errorf("job %d: %w", job, err)
}

// writeJSON prints a wire type. Its fields are sluice's stable interface.
func writeJSON(w io.Writer, v any) error {
	var raw bytes.Buffer
	enc := json.NewEncoder(&raw)
	enc.SetIndent("", "  ")
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return err
	}
	_, err := io.WriteString(w, escapeJSON(raw.String()))
	return err
}

// escapeJSON writes what encoding/json leaves as it is, and a terminal would act
// upon, as \u009b. It can only stand in strings.
func escapeJSON(text string) string {
	if strings.IndexFunc(text, evilInJSON) < 0 {
		return text
	}
	var b strings.Builder
	for _, r := range text {
		switch high, low := utf16.EncodeRune(r); {
		case !evilInJSON(r):
			b.WriteRune(r)
		case high != unicode.ReplacementChar:
			fmt.Fprintf(&b, `\u%04x\u%04x`, high, low)
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
	}
	return b.String()
}

func evilInJSON(r rune) bool { return r != '\n' && unprintable(r) }

// warnBlind tells the user when what he sees is old.
func warnBlind(errs io.Writer, blind string, seconds float64, at time.Time) {
	if blind == "" {
		return
	}
	warn(errs, fmt.Sprintf("sluiced has not been able to see Slurm for %s; this is the state of %s: %s",
		span(seconds), when(at), escape(blind)))
}

// helpWithoutShorthand frees -h, which Slurm's tools use for "no header".
func helpWithoutShorthand(c *cobra.Command) { c.Flags().Bool("help", false, "print this help") }
