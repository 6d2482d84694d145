package reach

import (
	"errors"

	"github.com/sluice-hpc/sluice/elastic/vault/client"
	"github.com/sluice-hpc/sluice/etc"
)

// ErrNoVault: the site has no data sets.
var ErrNoVault = errors.New("this site has no data sets: ask your administrators for [data] account in sluice.toml")

// Vault returns the client for a site's sluice-vaultd. It does not connect.
func Vault(c etc.Config) (*client.Client, error) {
	if c.Data.Account == "" {
		return nil, ErrNoVault
	}
	return client.Dial(c.Data.Socket), nil
}
