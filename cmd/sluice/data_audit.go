package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/sluice-hpc/sluice/cmd/present"
	"github.com/sluice-hpc/sluice/cmd/terminal"
	"github.com/sluice-hpc/sluice/elastic/vault"
	"github.com/sluice-hpc/sluice/elastic/vault/wire"
)

func newDataAuditCommand() *cobra.Command {
	var attempts, noHeader bool
	c := &cobra.Command{
		Use:   "audit NAME",
		Short: "Print what happened to a data set of yours, and verify the record",
		Long: `Prints the lines of the record that are about a data set: who trained on it, when, with
which code (its SHA-256), what left and what was refused. Each line has the digest of
the line before it. All lines are verified first, also those of other data sets; if the
chain does not hold, the exit code is 1.

Where a line of a submitted job says "network":"site", its programs could reach the
network of the site, and what they sent there is not counted.

--attempts prints a table instead: which system calls that could leave the fence the
programs of each job made, how often, and when first and last. All were denied.`,
		Example: "  sluice data audit mammo | grep released\n  sluice data audit mammo --attempts",
		Args:    oneSet, ValidArgsFunction: oneOf(dataSets).only,
		RunE: func(cmd *cobra.Command, args []string) error {
			found := &denials{out: &harmless{out: cmd.OutOrStdout()}, jobs: map[string]vault.Entry{}}
			if attempts {
				found.out = io.Discard
			}
			a, err := askVault(cmd, wire.Request{Do: wire.Audit, Name: args[0]}, found)
			if err != nil {
				return err
			}
			if attempts {
				if err := found.table(cmd.OutOrStdout(), noHeader); err != nil {
					return err
				}
			}
			if !a.Whole {
				return fmt.Errorf("the record does not hold from line %d on: it was changed after it was written; tell your administrators", a.Broken)
			}
			fmt.Fprintf(cmd.ErrOrStderr(), "sluice: the record holds: %s verified\n", terminal.Plural(a.Lines, "line"))
			if found.open > 0 {
				fmt.Fprintf(cmd.ErrOrStderr(), "sluice: %s could reach the network of the site; what they sent there is not counted\n", terminal.Plural(found.open, "job"))
			}
			if len(found.jobs) > 0 && !attempts {
				fmt.Fprintf(cmd.ErrOrStderr(), "sluice: calls of %s were denied, or not counted: sluice data audit %s --attempts\n", terminal.Plural(len(found.jobs), "job"), args[0])
			}
			return nil
		},
	}
	helpWithoutShorthand(c)
	c.Flags().BoolVar(&attempts, "attempts", false, "print the denied system calls of each job instead")
	c.Flags().BoolVarP(&noHeader, "noheader", "h", false, "print no header; for --attempts")
	return c
}

// denials passes lines of a record on, keeps the newest entry about denied calls of each job, and counts the jobs that
// could send bytes that are not counted.
type denials struct {
	out  io.Writer
	line []byte
	jobs map[string]vault.Entry
	list []string // the jobs, in order of their first entry
	open int      // jobs that could reach the network of the site
}

// Write takes a part of the record.
func (d *denials) Write(data []byte) (int, error) {
	for line := range bytes.Lines(data) {
		if d.line = append(d.line, line...); !bytes.HasSuffix(line, []byte("\n")) {
			if len(d.line) > vault.MaxLine {
				d.line = nil
			}
			continue
		}
		d.take(d.line)
		d.line = d.line[:0]
	}
	return d.out.Write(data)
}

func (d *denials) take(line []byte) {
	var e vault.Entry
	if bytes.Contains(line, []byte(`"network"`)) && json.Unmarshal(line, &e) == nil && e.Event == vault.Submitted && vault.Open(e.Network) {
		d.open++
		return
	}
	if !bytes.Contains(line, []byte(`"`+string(vault.Attempted)+`"`)) || json.Unmarshal(line, &e) != nil || e.Event != vault.Attempted {
		return
	}
	if _, known := d.jobs[e.Job]; !known {
		d.list = append(d.list, e.Job)
	}
	d.jobs[e.Job] = e
}

// table prints the denied calls of each job.
func (d *denials) table(w io.Writer, noHeader bool) error {
	t := terminal.Table{Columns: []terminal.Column{terminal.Left("JOB"), terminal.Left("USER"), terminal.Left("DENIED-CALL"), terminal.Left("PROCESS"), terminal.Right("COUNT"),
		terminal.Left("FIRST"), terminal.Left("LAST")}, NoHeader: noHeader, Room: terminal.Room(w)}
	for _, id := range d.list {
		e := d.jobs[id]
		job := e.Job
		if e.JobID > 0 {
			job = strconv.FormatInt(e.JobID, 10)
		}
		for _, a := range e.Attempts {
			t.Add(job, e.By, terminal.Escape(a.Call), terminal.Escape(a.Process), strconv.FormatInt(a.Count, 10), present.When(a.First), present.When(a.Last))
		}
		if e.Uncounted != "" {
			t.Add(job, e.By, "not counted: "+terminal.Escape(e.Uncounted), "", "", "", present.When(e.Time))
		}
	}
	return t.Write(w)
}
