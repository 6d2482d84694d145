package reach

import (
	"fmt"
	"net"
	"os"

	"github.com/sluice-hpc/sluice/elastic/control/client"
	"github.com/sluice-hpc/sluice/elastic/control/munge"
	"github.com/sluice-hpc/sluice/etc"
)

// Dial returns the client for a site's daemon: at SLUICE_ADDRESS if that is set, else on
// its socket if that is on this machine, else at [remote] address. It does not connect.
func Dial(c etc.Config) (*client.Client, error) {
	address := Address(c)
	if address == "" {
		return client.Dial(c.Paths.Socket), nil
	}
	if _, _, err := net.SplitHostPort(address); err != nil {
		return nil, fmt.Errorf("invalid SLUICE_ADDRESS %q: want HOST:PORT", address)
	}
	uid, err := c.Remote.UID()
	if err != nil {
		return nil, err
	}
	tool, err := munge.New(c.Remote.Munge)
	if err != nil {
		return nil, fmt.Errorf("sluiced on %s cannot be asked: %w", address, err)
	}
	return client.DialRemote(client.Remote{Address: address, Daemon: uid, Munge: tool}), nil
}

// Address is the daemon's TCP address; "" = use its socket.
func Address(c etc.Config) string {
	if named := os.Getenv("SLUICE_ADDRESS"); named != "" {
		return named
	}
	if _, err := os.Stat(c.Paths.Socket); err == nil {
		return ""
	}
	return c.Remote.Address
}

// Askable reports whether there may be a daemon to query: its socket exists, or an
// address is set. It connects to nothing, so that submit does not wait where there is none.
func Askable(c etc.Config) bool {
	_, err := os.Stat(c.Paths.Socket)
	return err == nil || Address(c) != ""
}
