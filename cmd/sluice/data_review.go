package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/sluice-hpc/sluice/cmd/terminal"
	"github.com/sluice-hpc/sluice/elastic/vault/wire"
)

func newDataReviewCommand() *cobra.Command {
	var allow, refuse bool
	var digest string
	c := &cobra.Command{
		Use:   "review NAME [JOB FILE --allow|--refuse]",
		Short: "List the files that wait for you, and let them leave or not",
		Long: `Files of other kinds than the data set's wait for its owner. Without a job, review lists
them. A file that is allowed is counted against the budget when its user fetches it, and
one that is refused never leaves. What you decide holds for the present content of the
file, and with --digest only if that is still what you looked at. As long as it has not
left you can decide otherwise.`,
		Example:           "  sluice data review mammo\n  sluice data review mammo 4711 plots/loss.png --allow --digest 5f7c0e9a",
		ValidArgsFunction: oneOf(dataSets).only,
		Args: func(cmd *cobra.Command, args []string) error {
			switch {
			case len(args) != 1 && len(args) != 3:
				return fmt.Errorf("which data set, and which file? sluice data %s", cmd.Use)
			case len(args) == 3 && !allow && !refuse:
				return errors.New("say what becomes of the file: --allow or --refuse")
			case len(args) == 1 && (allow || refuse || digest != ""):
				return errors.New("which file? 'sluice data review NAME' lists those that wait")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			q := wire.Request{Do: wire.Review, Name: args[0]}
			if len(args) == 3 {
				q.Job, q.File, q.Order, q.Digest = args[1], args[2], wire.Refuse, strings.ToLower(digest)
			}
			if allow {
				q.Order = wire.Allow
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
		},
	}
	c.Flags().BoolVar(&allow, "allow", false, "the file may leave")
	c.Flags().BoolVar(&refuse, "refuse", false, "the file never leaves")
	c.Flags().StringVar(&digest, "digest", "", "only if the SHA-256 of the file begins so")
	c.MarkFlagsMutuallyExclusive("allow", "refuse")
	return c
}
