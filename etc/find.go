package etc

import (
	"os"
	"path/filepath"
)

// systemFile is the path of an installation's configuration.
var systemFile = "/etc/sluice/sluice.toml" // tests use another path

// Find returns the configuration file in force: the one SLUICE_CONF names, whether it
// exists or not, else ~/.config/sluice/sluice.toml in user mode or
// /etc/sluice/sluice.toml otherwise. It returns "" if there is none, for which Load uses
// the defaults.
func Find(user bool) string {
	if named := os.Getenv("SLUICE_CONF"); named != "" {
		return named
	}
	path := systemFile
	if user {
		path = userFile()
	}
	if path == "" || !exists(path) {
		return ""
	}
	return path
}

// Current returns the configuration for a command of this user, and its file ("" =
// defaults). It is that of user mode if user is set, or if SLUICE_CONF is not set and
// this user has started a sluiced --user, whose socket then exists; else the system's.
func Current(user bool) (Config, string, error) {
	home, _ := os.UserHomeDir() // without a home there is no user mode
	if !user && os.Getenv("SLUICE_CONF") == "" && home != "" {
		own, _, err := current(true, home)
		user = err == nil && exists(own.Paths.Socket)
	}
	return current(user, home)
}

// Cluster is Current for the cluster's sluiced, whether this user has one or not.
func Cluster() (Config, string, error) { return current(false, "") }

// Rivals returns the sockets of this user's own sluiced and of the cluster's if both
// exist and Current chooses the user's own; else "".
func Rivals() (own, cluster string) {
	home, _ := os.UserHomeDir()
	if os.Getenv("SLUICE_CONF") != "" || home == "" {
		return "", ""
	}
	mine, _, err := current(true, home)
	if err != nil || !exists(mine.Paths.Socket) {
		return "", ""
	}
	site, _, err := Cluster()
	if err != nil || !exists(site.Paths.Socket) && site.Remote.Address == "" || site.Paths.Socket == mine.Paths.Socket {
		return "", ""
	}
	if exists(site.Paths.Socket) {
		return mine.Paths.Socket, site.Paths.Socket
	}
	return mine.Paths.Socket, site.Remote.Address
}

func current(user bool, home string) (Config, string, error) {
	base := Default()
	if user {
		base = UserDefaults(home)
	}
	path := Find(user)
	c, err := LoadOver(base, path)
	return c, path, err
}

// SystemFile is where an installation's configuration is, whether it exists or not.
func SystemFile() string { return systemFile }

// UserFile is where a user's own configuration is, whether it exists or not; "" without a home.
func UserFile() string { return userFile() }

// userFile returns the user's own configuration file, "" without a home.
func userFile() string {
	dir, err := os.UserConfigDir()
	if err != nil {
		return ""
	}
	return filepath.Join(dir, "sluice", "sluice.toml")
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
