package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/sluice-hpc/sluice/cmd/bundle"
	"github.com/sluice-hpc/sluice/cmd/reach"
	"github.com/sluice-hpc/sluice/cmd/terminal"
	"github.com/sluice-hpc/sluice/elastic/vault/wire"
)

func newDataReviewCommand() *cobra.Command {
	o := reviewOptions{}
	c := &cobra.Command{
		Use:   "review NAME [JOB FILE -o DIR|--allow|--refuse]",
		Short: "List the files that wait for you, look at them, and let them leave or not",
		Long: `Files of other kinds than the data set's wait for its owner. Without a job, review lists
them. With -o it writes one into a folder, if the job read no data of another owner; the
record says that you had it.

A file that is allowed is counted against the budget when its user fetches it, and one
that is refused never leaves. What you decide holds for the present content of the
file, and with --digest only if that is still what you looked at. As long as it has not
left you can decide otherwise.`,
		Example:           "  sluice data review mammo\n  sluice data review mammo 4711 plots/loss.png -o look\n  sluice data review mammo 4711 plots/loss.png --allow --digest 5f7c0e9a",
		ValidArgsFunction: oneOf(dataSets).only,
		Args: func(cmd *cobra.Command, args []string) error {
			switch {
			case len(args) != 1 && len(args) != 3:
				return fmt.Errorf("which data set, and which file? sluice data %s", cmd.Use)
			case len(args) == 3 && !o.allow && !o.refuse && o.dir == "":
				return errors.New("say what becomes of the file: --allow or --refuse; or look at it with -o DIR")
			case len(args) == 1 && (o.allow || o.refuse || o.digest != "" || o.dir != ""):
				return errors.New("which file? 'sluice data review NAME' lists those that wait")
			}
			return nil
		},
		RunE: o.run,
	}
	c.Flags().BoolVar(&o.allow, "allow", false, "the file may leave")
	c.Flags().BoolVar(&o.refuse, "refuse", false, "the file never leaves")
	c.Flags().StringVar(&o.digest, "digest", "", "only if the SHA-256 of the file begins so")
	c.Flags().StringVarP(&o.dir, "output", "o", "", "folder to write the file to")
	c.Flags().BoolVar(&o.force, "force", false, "write over a file that is there")
	c.MarkFlagsMutuallyExclusive("allow", "refuse", "output")
	c.MarkFlagsMutuallyExclusive("digest", "output")
	return c
}

// reviewOptions are the command line of "sluice data review".
type reviewOptions struct {
	allow, refuse, force bool
	digest, dir          string
}

func (o *reviewOptions) run(cmd *cobra.Command, args []string) error {
	q := wire.Request{Do: wire.Review, Name: args[0]}
	if len(args) == 3 {
		q.Job, q.File, q.Digest = args[1], args[2], strings.ToLower(o.digest)
	}
	switch {
	case o.dir != "":
		return o.look(cmd, q)
	case o.allow:
		q.Order = wire.Allow
	case o.refuse:
		q.Order = wire.Refuse
	}
	a, err := askVault(cmd, q, nil)
	if err != nil || len(args) == 3 {
		return err
	}
	t := terminal.Table{Columns: []terminal.Column{terminal.Left("JOB"), terminal.Left("USER"), terminal.Right("SIZE"), terminal.Left("SHA-256").Down(12), terminal.Left("FILE")},
		Room: terminal.Room(cmd.OutOrStdout())}
	for _, k := range a.Kept {
		t.Add(k.Job, k.User, size(k.Size), k.Digest, k.Name)
	}
	if a.More {
		terminal.Warn(cmd.ErrOrStderr(), "there are more; of each user those of the newest jobs are listed, and what you decide about makes room for others")
	}
	return t.Write(cmd.OutOrStdout())
}

// look writes a file that waits into a folder.
func (o *reviewOptions) look(cmd *cobra.Command, q wire.Request) error {
	site, err := reach.Site(cmd)
	if err != nil {
		return err
	}
	vault, err := reach.Vault(site)
	if err != nil {
		return err
	}
	folder, err := bundle.Open(o.dir)
	if err != nil {
		return err
	}
	a, arrived, err := receive(cmd, vault, q, folder)
	if err != nil {
		return errors.Join(err, folder.Close())
	}
	for i := range a.Files {
		a.Files[i].State = wire.FileReleased // to its owner
	}
	to := resultOptions{dir: o.dir, force: o.force}
	placed, err := to.place(a.Files, arrived, folder)
	if err == nil && len(placed) == 0 {
		err = errors.New("sluice-vaultd sent no file; is it of another release?")
	}
	if err := errors.Join(err, folder.Close()); err != nil {
		return err
	}
	for _, name := range placed {
		fmt.Fprintf(cmd.OutOrStdout(), "%s/%s\nSHA-256 %s\n", o.dir, name, a.Files[0].Digest)
	}
	return nil
}
