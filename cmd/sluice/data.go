package main

import (
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/sluice-hpc/sluice/cmd/present"
	"github.com/sluice-hpc/sluice/cmd/reach"
	"github.com/sluice-hpc/sluice/cmd/terminal"
	"github.com/sluice-hpc/sluice/elastic/vault/wire"
)

func newDataCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "data VERB [NAME]",
		Short: "Share data sets that can be trained on and not taken away",
		Long: `A data set is a folder with a name, an owner, readers and a release budget. A job
that names it ('#SLUICE --data=NAME') runs inside of a fence: its programs read the data
at $SLUICE_DATA/NAME and reach neither the network nor other files. What leaves, the
log, numbers of progress and the files of 'sluice results', is counted against the
budget of each job, and of each user in a time.

At most the stated bytes leave, whatever the program does. A model of that size can
contain data: choose the budget by what you could bear to lose. Such jobs run on one
node, unless the site carries packets between the nodes of a job ([data] network).`,
		Example: `  sluice data add mammo --path /vault/mammo --readers @radiology,ada \
      --release 200MB/job,1GB/week
  sluice data list
  sluice data audit mammo`,
		RunE: func(cmd *cobra.Command, args []string) error { return terminal.OnlyVerbs(cmd, args) },
	}
	c.AddCommand(newDataAddCommand(), newDataListCommand(), newDataShowCommand(), newDataReadersCommand(wire.Grant), newDataReadersCommand(wire.Revoke),
		newDataAuditCommand(), newDataReviewCommand())
	return c
}

// askVault sends one request to the site's sluice-vaultd; to out go the raw bytes of the answer.
func askVault(cmd *cobra.Command, q wire.Request, out io.Writer) (wire.Answer, error) {
	site, err := reach.Site(cmd)
	if err != nil {
		return wire.Answer{}, err
	}
	vault, err := reach.Vault(site)
	if err != nil {
		return wire.Answer{}, err
	}
	return vault.Do(cmd.Context(), q, nil, out)
}

// oneSet requires the name of one data set.
func oneSet(cmd *cobra.Command, args []string) error {
	if len(args) != 1 {
		return fmt.Errorf("which data set? sluice data %s; 'sluice data list' shows yours", cmd.Use)
	}
	return nil
}

// words splits a list at its commas.
func words(list string) []string {
	if list == "" {
		return nil
	}
	return strings.Split(list, ",")
}

func newDataAddCommand() *cobra.Command {
	var set wire.Set
	var readers, kinds string
	c := &cobra.Command{
		Use:   "add NAME --path FOLDER --release SIZE/job,SIZE/TIME",
		Short: "Make a folder a data set, of which you are the owner",
		Long: `Makes a folder a data set. The folder must belong to the site's service account, with
mode 0700, so that nobody else reads it, and [data] owners in sluice.toml must let you
add it: ask your administrators.

--release is the budget: how many bytes may leave with each job, and for each user in a
time, as 200MB/job,1GB/week. Everything that leaves is counted: files, log, and numbers.
Files of the kinds .pt, .pth, .safetensors and .json leave by themselves; others wait
until you allow them ('sluice data review').`,
		Example: "  sluice data add mammo --path /vault/mammo --readers @radiology,ada \\\n      --release 200MB/job,1GB/week",
		Args:    oneSet,
		RunE: func(cmd *cobra.Command, args []string) error {
			set.Name, set.Readers, set.Kinds = args[0], words(readers), words(kinds)
			switch {
			case set.Path == "":
				return errors.New("give the folder: --path=FOLDER")
			case set.Release == "":
				return errors.New("say how many bytes may leave: --release=200MB/job,1GB/week")
			}
			a, err := askVault(cmd, wire.Request{Do: wire.Add, Set: &set}, nil)
			if err != nil {
				return err
			}
			return printSet(cmd.OutOrStdout(), a)
		},
	}
	c.Flags().StringVar(&set.Path, "path", "", "the folder, an absolute path")
	c.Flags().StringVar(&readers, "readers", "", "users, and groups as @GROUP, that may train on it")
	c.Flags().StringVar(&set.Release, "release", "", "how many bytes may leave: SIZE/job,SIZE/TIME")
	c.Flags().StringVar(&set.Nodes, "nodes", "", "a feature that the nodes of its jobs must have")
	c.Flags().StringVar(&kinds, "kinds", "", "kinds of files that leave without a review, as *.pt,*.json")
	return c
}

func newDataListCommand() *cobra.Command {
	var noHeader bool
	c := &cobra.Command{
		Use:   "list",
		Short: "List the data sets that you own or may train on",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			a, err := askVault(cmd, wire.Request{Do: wire.List}, nil)
			if err != nil {
				return err
			}
			t := terminal.Table{Columns: []terminal.Column{terminal.Left("NAME"), terminal.Left("OWNER"), terminal.Left("RELEASE"), terminal.Left("NODES")},
				NoHeader: noHeader, Room: terminal.Room(cmd.OutOrStdout())}
			for _, s := range a.Sets {
				t.Add(s.Name, s.Owner, s.Release, s.Nodes)
			}
			return t.Write(cmd.OutOrStdout())
		},
	}
	helpWithoutShorthand(c)
	c.Flags().BoolVarP(&noHeader, "noheader", "h", false, "print no header")
	return c
}

func newDataShowCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "show NAME",
		Short: "Show a data set; its owner also sees who trained on it",
		Args:  oneSet, ValidArgsFunction: oneOf(dataSets).only,
		RunE: func(cmd *cobra.Command, args []string) error {
			a, err := askVault(cmd, wire.Request{Do: wire.Show, Name: args[0]}, nil)
			if err != nil {
				return err
			}
			if err := printSet(cmd.OutOrStdout(), a); err != nil || len(a.Uses) == 0 {
				return err
			}
			t := terminal.Table{Columns: []terminal.Column{terminal.Left("USER"), terminal.Right("JOBS"), terminal.Right("LEFT"), terminal.Right("LEFT-NOW"), terminal.Left("LAST")},
				Room: terminal.Room(cmd.OutOrStdout())}
			open := 0
			for _, u := range a.Uses {
				t.Add(u.User, strconv.Itoa(u.Jobs), size(u.Released), size(u.Window), present.When(u.Last))
				open += u.Open
			}
			fmt.Fprintln(cmd.OutOrStdout())
			return errors.Join(t.Write(cmd.OutOrStdout()), sayOpen(cmd.OutOrStdout(), open))
		},
	}
}

// sayOpen says how many jobs on a data set could send bytes that are not counted.
func sayOpen(w io.Writer, jobs int) error {
	if jobs == 0 {
		return nil
	}
	_, err := fmt.Fprintf(w, "\n%s could reach the network of the site ([data] network = \"site\"). What they sent\nthere is not counted: it is not in LEFT, and no budget bounds it.\n", terminal.Plural(jobs, "job"))
	return err
}

// printSet prints what is known of a data set.
func printSet(w io.Writer, a wire.Answer) error {
	if a.Set == nil {
		return errors.New("sluice-vaultd answered without the data set; is it of another release?")
	}
	var s sheet
	s.put("name", "%s", a.Set.Name)
	s.put("owner", "%s", a.Set.Owner)
	s.put("folder", "%s", a.Set.Path)
	s.put("readers", "%s", strings.Join(a.Set.Readers, ", "))
	s.put("release", "%s", a.Set.Release)
	s.put("nodes", "%s", a.Set.Nodes)
	s.put("kinds", "%s", strings.Join(a.Set.Kinds, ", "))
	return s.write(w)
}

// readerVerbs say what grant and revoke do.
var readerVerbs = map[wire.Verb]struct{ short, long string }{
	wire.Grant: {"Let users train on a data set of yours", `Lets users train on a data set. A group is written as @GROUP: all its members. Who
leaves it loses the data set, as by 'sluice data revoke'.`},
	wire.Revoke: {"Let users no longer train on a data set of yours", `Users lose the data set. Their jobs are no longer accepted, those that run are
cancelled, and nothing of them leaves any more.`},
}

func newDataReadersCommand(do wire.Verb) *cobra.Command {
	text := readerVerbs[do]
	return &cobra.Command{
		Use:     string(do) + " NAME USER|@GROUP...",
		Short:   text.short,
		Long:    text.long,
		Example: fmt.Sprintf("  sluice data %s mammo ada @radiology", do), ValidArgsFunction: oneOf(dataSets).only,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) < 2 {
				return fmt.Errorf("which data set, and which users? sluice data %s", cmd.Use)
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			var readers []string
			for _, a := range args[1:] {
				readers = append(readers, words(a)...)
			}
			a, err := askVault(cmd, wire.Request{Do: do, Name: args[0], Readers: readers}, nil)
			if err != nil {
				return err
			}
			return printSet(cmd.OutOrStdout(), a)
		},
	}
}

// size formats bytes.
func size(n int64) string {
	switch {
	case n >= 1e9:
		return present.Figure(float64(n)/1e9) + " GB"
	case n >= 1e6:
		return present.Figure(float64(n)/1e6) + " MB"
	case n >= 1e3:
		return present.Figure(float64(n)/1e3) + " KB"
	}
	return strconv.FormatInt(n, 10) + " B"
}
