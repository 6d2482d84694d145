package main

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/sluice-hpc/sluice/cmd/bundle"
	"github.com/sluice-hpc/sluice/cmd/reach"
	"github.com/sluice-hpc/sluice/cmd/terminal"
	"github.com/sluice-hpc/sluice/elastic/vault/client"
	"github.com/sluice-hpc/sluice/elastic/vault/wire"
)

func newResultsCommand() *cobra.Command {
	o := resultOptions{}
	c := &cobra.Command{
		Use:   "results JOB [-o DIR]",
		Short: "Fetch what a job with --data has put into $SLUICE_OUTPUT",
		Long: `Fetches the files that a confined job ('#SLUICE --data=NAME') has put into
$SLUICE_OUTPUT, once the job has ended and as far as they may leave: each byte counts
once against the release budget of the data sets. A file that has left can be fetched
again, as it was: what the job writes into it later does not leave.

Files of kinds that the owner did not allow wait for a review; those that do not fit
into the budget stay. The list says which, and what to do. A file that is there is not
written over, and no link is followed.`,
		Example: "  sluice results 4711\n  sluice results 4711 -o models --file epoch90.pt",
		Args:    oneJob,
		RunE:    o.run,
	}
	c.Flags().StringVarP(&o.dir, "output", "o", "", "folder to write to (results-JOB)")
	c.Flags().StringVar(&o.file, "file", "", "only this file")
	c.Flags().BoolVar(&o.force, "force", false, "write over files that are there")
	return c
}

// resultOptions are the command line of "sluice results".
type resultOptions struct {
	dir, file string
	force     bool
}

func (o *resultOptions) run(cmd *cobra.Command, args []string) error {
	job, err := vaultJob(cmd, args[0])
	if err != nil {
		return err
	}
	site, err := reach.Site(cmd)
	if err != nil {
		return err
	}
	vault, err := reach.Vault(site)
	if err != nil {
		return err
	}
	dir := o.dir
	if dir == "" {
		dir = "results-" + job
	}
	folder, err := bundle.Open(dir)
	if err != nil {
		return err
	}
	a, arrived, err := receive(cmd, vault, wire.Request{Do: wire.Results, Job: job, File: o.file}, folder)
	if err != nil {
		return errors.Join(err, folder.Close())
	}
	placed, err := o.place(a.Files, arrived, folder)
	if err := errors.Join(err, folder.Close(), listResults(cmd.OutOrStdout(), a, dir, placed)); err != nil {
		return err
	}
	return o.leftOver(cmd, job, a)
}

// vaultJob is the job that an argument names, for sluice-vaultd: its number, or the id of 32 digits that it has there.
func vaultJob(cmd *cobra.Command, arg string) (string, error) {
	if wire.IsID(arg) {
		return arg, nil
	}
	job, err := jobNamed(cmd.Context(), arg, reportFor(cmd))
	return fmt.Sprint(job), err
}

// receive asks for results, and writes what comes into the folder while it comes.
func receive(cmd *cobra.Command, vault *client.Client, q wire.Request, folder *bundle.Folder) (wire.Answer, []bundle.Arrived, error) {
	from, to := io.Pipe()
	var arrived []bundle.Arrived
	var wrong error
	done := make(chan struct{})
	go func() {
		defer close(done)
		first := make([]byte, 1)
		n, err := io.ReadFull(from, first)
		if errors.Is(err, io.EOF) { // no file has left
			return
		}
		arrived, wrong = folder.Receive(io.MultiReader(strings.NewReader(string(first[:n])), from))
		if wrong == nil { // the end of a tar may be followed by zeros
			_, wrong = io.Copy(io.Discard, from)
		}
		from.CloseWithError(wrong)
	}()
	a, err := vault.Do(cmd.Context(), q, nil, to)
	to.CloseWithError(err)
	<-done
	if err != nil && wrong != nil && errors.Is(wrong, err) {
		wrong = nil // one broke the other off
	}
	return a, arrived, errors.Join(wrong, err)
}

// place puts what arrived in its place, and returns the names of what is there then. What sluice-vaultd says of a file must be true of what arrived.
func (o *resultOptions) place(said []wire.File, arrived []bundle.Arrived, folder *bundle.Folder) (placed []string, err error) {
	for _, a := range arrived {
		i := slices.IndexFunc(said, func(f wire.File) bool { return f.Name == a.Name })
		if i < 0 || said[i].State != wire.FileReleased || said[i].Size != a.Size || said[i].Digest != a.Digest {
			return nil, fmt.Errorf("results: %q is not the file that sluice-vaultd announced; nothing was written", a.Name)
		}
	}
	var all []error
	for _, a := range arrived {
		err := folder.Place(a, o.force)
		if errors.Is(err, bundle.ErrExists) {
			err = fmt.Errorf("%w; write it elsewhere with -o DIR, or over it with --force", err)
		}
		if all = append(all, err); err == nil {
			placed = append(placed, a.Name)
		}
	}
	return placed, errors.Join(all...)
}

// resultStates say what became of a file.
var resultStates = map[string]string{
	wire.FileReleased: "here", wire.FileKept: "waits for the owner", wire.FileRefused: "refused", wire.FileOver: "over the budget",
}

func listResults(w io.Writer, a wire.Answer, dir string, placed []string) error {
	t := terminal.Table{Columns: []terminal.Column{terminal.Left("STATE"), terminal.Right("SIZE"), terminal.Left("FILE")}, Room: terminal.Room(w)}
	for _, f := range a.Files {
		state, name := resultStates[f.State], f.Name
		switch {
		case slices.Contains(placed, name):
			name = dir + "/" + name
			if f.Changed {
				state = "here, older"
			}
		case f.State == wire.FileReleased:
			state = "not written"
		}
		t.Add(state, size(f.Size), name)
	}
	return t.Write(w)
}

// setsOf names the data sets of a job, for what their owner types.
func (o *resultOptions) setsOf(cmd *cobra.Command, job string) string {
	a, err := askVault(cmd, wire.Request{Do: wire.Jobs}, nil)
	i := slices.IndexFunc(a.Jobs, func(j wire.Job) bool { return j.ID == job || fmt.Sprint(j.JobID) == job })
	if err != nil || i < 0 || len(a.Jobs[i].Data) == 0 {
		return "NAME"
	}
	return strings.Join(a.Jobs[i].Data, " or ")
}

// leftOver says what to type for what did not come.
func (o *resultOptions) leftOver(cmd *cobra.Command, job string, a wire.Answer) error {
	count := map[string]int{}
	for _, f := range a.Files {
		count[f.State]++
	}
	errs := cmd.ErrOrStderr()
	if n := count[wire.FileKept]; n > 0 {
		terminal.Warn(errs, fmt.Sprintf("the owner of the data has to allow %s, by: sluice data review %s", terminal.Plural(n, "file"), o.setsOf(cmd, job)))
	}
	if n := count[wire.FileOver]; n > 0 {
		terminal.Warn(errs, fmt.Sprintf("the budget has no room for %s; fetch those that you need most, one by one: sluice results %s --file NAME", terminal.Plural(n, "file"), job))
	}
	changed := slices.DeleteFunc(slices.Clone(a.Files), func(f wire.File) bool { return !f.Changed })
	if n := len(changed); n > 0 {
		terminal.Warn(errs, fmt.Sprintf("the job changed %s after they had left: a file leaves once, so these are as they were; write later ones under other names", terminal.Plural(n, "file")))
	}
	if a.More {
		terminal.Warn(errs, "there are further files: the budget does not hold their names, they cannot be read now, or there are too many for one request; later, try again")
	}
	switch {
	case len(a.Files) == 0 && !a.More && o.file != "":
		return fmt.Errorf("job %s: there is no file %q in $SLUICE_OUTPUT", job, o.file)
	case len(a.Files) == 0 && !a.More:
		return fmt.Errorf("job %s: there is no file in $SLUICE_OUTPUT yet", job)
	}
	return nil
}
