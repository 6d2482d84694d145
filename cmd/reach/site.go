package reach

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/sluice-hpc/sluice/cmd/terminal"
	"github.com/sluice-hpc/sluice/etc"
)

// Site returns the configuration in force for a command: that of its --config and
// --user, else the one that etc.Current finds.
func Site(cmd *cobra.Command) (etc.Config, error) {
	file, _ := cmd.Flags().GetString("config") // both are always defined by the root
	user, _ := cmd.Flags().GetBool("user")
	if file == "" && cmd.Flags().Changed("user") && !user {
		c, _, err := etc.Cluster()
		return c, err
	}
	return Load(file, user)
}

// ownSocket refuses the socket of a cluster's sluiced if the user's own is meant: that
// one is open to all users. A missing socket is reported when it is used.
func ownSocket(path string) error {
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm()&0o006 == 0 {
		return nil
	}
	return fmt.Errorf("--user: %s is the socket of the cluster's sluiced, not of your own; unset SLUICE_CONF, or leave out --user or --config", path)
}

// TellRival prints which sluiced is used if there are two and the user named neither.
func TellRival(cmd *cobra.Command) {
	file, _ := cmd.Flags().GetString("config")
	if file != "" || cmd.Flags().Changed("user") {
		return
	}
	if own, cluster := etc.Rivals(); cluster != "" {
		fmt.Fprintln(cmd.ErrOrStderr(), "sluice:", terminal.Escape(rivalNote(own, cluster)))
	}
}

func rivalNote(own, cluster string) string {
	return fmt.Sprintf("asking your own sluiced (%s), not the cluster's (%s); --user or --user=false chooses", own, cluster)
}

// Load returns the configuration of the file, "" being the one that etc.Current
// finds; that of the user's own sluiced if user is set.
func Load(file string, user bool) (c etc.Config, err error) {
	if c, err = siteIn(file, user); err == nil && user {
		err = ownSocket(c.Paths.Socket)
	}
	return c, err
}

func siteIn(file string, user bool) (etc.Config, error) {
	if file == "" {
		c, _, err := etc.Current(user)
		return c, err
	}
	base := etc.Default()
	if user {
		home, err := os.UserHomeDir()
		if err != nil {
			return etc.Config{}, fmt.Errorf("your home directory is not known: %w; set HOME", err)
		}
		base = etc.UserDefaults(home)
	}
	return etc.LoadOver(base, file)
}
