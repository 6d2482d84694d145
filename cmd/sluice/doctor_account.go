package main

import (
	"fmt"
	"os"
	"os/user"
	"slices"
	"strconv"

	"github.com/sluice-hpc/sluice/elastic/control/wire"
)

// account is the account that sluiced runs as; the zero value is the user's own, which is
// not checked.
type account struct {
	name, group string
	gids        []string // of all its groups
}

// accountOf looks up an account by its name or number.
func accountOf(name string) (account, error) {
	u, err := user.Lookup(name)
	if err != nil {
		if u, err = user.LookupId(name); err != nil {
			return account{name: name, group: name}, fmt.Errorf("there is no account %s on this host", name)
		}
	}
	a := account{name: u.Username, group: u.Gid}
	if g, err := user.LookupGroupId(u.Gid); err == nil {
		a.group = g.Name
	}
	if a.gids, err = u.GroupIds(); err != nil || !slices.Contains(a.gids, u.Gid) {
		a.gids = append(a.gids, u.Gid)
	}
	return a, nil
}

// examineAccount finds sluiced's account: the one it runs as, else the one it is
// configured to run as.
func examineAccount(p patient, status wire.Status) (account, []finding) {
	if p.user {
		return account{}, nil
	}
	name := status.User
	if name == "" {
		name = p.site.Remote.User
	}
	a, err := accountOf(name)
	if err != nil {
		do := fmt.Sprintf("useradd --system --user-group --no-create-home --home-dir %s %s", p.site.Paths.State, name)
		if _, number := strconv.Atoi(name); number == nil {
			do = "" // the site's directory service must define it
		}
		return a, []finding{typed(failed("account", "", "%v, as which sluiced is to run ([remote] user); it needs the same number on all nodes", err), do)}
	}
	return a, []finding{passed("account", "sluiced runs as %s, of group %s", a.name, a.group)}
}

// examineHome checks what the systemd unit would create for sluiced, on a machine without
// systemd.
func examineHome(p patient, a account, answers bool) []finding {
	if p.user || answers || systemd() {
		return nil
	}
	return []finding{
		examineFolder("state", p.site.Paths.State, a, wanted{set: 0o700, clear: 0o022, chmod: "700"}),
		examineFolder("socket", folderOf(p.site.Paths.Socket), a, wanted{set: 0o755, clear: 0o022, chmod: "755"}),
	}
}

// startCommand is the command that starts the cluster's sluiced here.
func startCommand(a account, config string) string {
	if systemd() {
		return "systemctl enable --now sluiced"
	}
	start := "sluiced"
	if config != "" {
		start += " --config " + config
	}
	return fmt.Sprintf("setsid setpriv --reuid=%s --regid=%s --init-groups %s &", a.name, a.group, start)
}

// systemd reports whether this host runs systemd.
func systemd() bool {
	_, err := os.Stat("/run/systemd/system")
	return err == nil
}
