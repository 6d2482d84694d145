package lab

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
)

// With Config.Accounting a lab has what a site with limits has: slurmdbd, and its own
// MariaDB server. No daemon of the machine is touched: the database files are in the lab,
// its socket is in a directory that only SlurmUser can enter, and it has no network port.

// accountingNeeds lists the programs that Accounting needs in addition to those of every
// lab.
var accountingNeeds = []program{
	// The server without the daemon that the package mariadb-server installs.
	{"mariadbd", "mariadb-server-core"},
	{"mariadb-install-db", "mariadb-server-core"},
	{"my_print_defaults", "mariadb-client-core"}, // started by mariadb-install-db
	{"slurmdbd", "slurmdbd"},
	{"sacctmgr", "slurm-client"},
}

// MissingAccounting is Missing for a lab with Config.Accounting.
func MissingAccounting(root string) error {
	if err := Missing(root); err != nil {
		return err
	}
	// The database server is this machine's, also when Slurm is from another tree.
	return missing("", root, accountingNeeds)
}

func (d layout) database() string       { return d.join("db") }
func (d layout) databaseSocket() string { return d.join("db", "sql.sock") }

// LabAccount is the accounting account that a lab with Accounting makes at its start,
// with the caller and SlurmUser in it.
const LabAccount = "lab"

// databaseSettings keep the database small and fast; its data need not survive a crash of
// the machine.
var databaseSettings = []string{
	"--innodb-buffer-pool-size=64M", "--innodb-log-file-size=8M", "--innodb-lock-wait-timeout=900",
	"--innodb-flush-log-at-trx-commit=0", "--innodb-flush-method=nosync",
}

// accounts starts what slurmctld needs at its start: the database, slurmdbd, and the
// cluster's name in it. Without Accounting it does nothing.
func (l *Lab) accounts(ctx context.Context) ([]*daemon, error) {
	if !l.rec.Config.Accounting {
		return nil, nil
	}
	if err := l.makeDatabase(ctx); err != nil {
		return nil, err
	}
	base, err := l.startDatabase(ctx)
	if err != nil {
		return nil, err
	}
	dbd, err := l.startSlurmdbd(ctx)
	if err != nil {
		return nil, err
	}
	return []*daemon{base, dbd}, l.accountant(ctx, "add", "cluster", l.rec.Cluster)
}

// makeDatabase writes an empty database with access for SlurmUser, identified by uid.
func (l *Lab) makeDatabase(ctx context.Context) error {
	d, slurm := l.layout(), l.rec.Slurm
	if err := os.Mkdir(d.database(), 0o700); err != nil {
		return err
	}
	args := append([]string{"--no-defaults"}, databaseSettings...)
	args = append(args, "--datadir="+d.database(), "--skip-test-db",
		"--auth-root-authentication-method=socket", "--auth-root-socket-user="+slurm.Name)
	if os.Geteuid() == 0 {
		if err := os.Chown(d.database(), slurm.UID, slurm.GID); err != nil {
			return err
		}
		args = append(args, "--user="+slurm.Name)
	}
	cmd := grouped(exec.CommandContext(ctx, l.Bin("mariadb-install-db"), args...))
	// Two databases that are made at the same time would use each other's temporary
	// tables.
	cmd.Env = append(l.databaseEnv(), "TMPDIR="+d.database())
	_, err := output(cmd)
	return err
}

// databaseServer is this machine's, also when Slurm is from another tree.
const databaseServer = "mariadbd"

// databaseEnv is the environment of this machine's own programs, without the libraries of
// another tree.
func (l *Lab) databaseEnv() []string {
	return slices.DeleteFunc(l.daemonEnv(), func(set string) bool { return strings.HasPrefix(set, "LD_LIBRARY_PATH=") })
}

func (l *Lab) startDatabase(ctx context.Context) (*daemon, error) {
	d := l.layout()
	args := append([]string{"--no-defaults"}, databaseSettings...)
	args = append(args, "--datadir="+d.database(), "--socket="+d.databaseSocket(),
		"--pid-file="+filepath.Join(d.database(), "pid"), "--tmpdir="+d.database(), "--skip-networking")
	if os.Geteuid() == 0 {
		args = append(args, "--user="+l.rec.Slurm.Name)
	}
	started, err := l.start(databaseServer, d.database(), databaseServer, args...)
	if err != nil {
		return nil, err
	}
	return started, l.until(ctx, started, func() bool {
		c, err := net.Dial("unix", d.databaseSocket())
		if err != nil {
			return false
		}
		return c.Close() == nil
	})
}

// credential is the account that a daemon must be started as; nil = the caller's. The
// database identifies SlurmUser by uid, and slurmdbd 20.11 connects to it before it
// changes to SlurmUser.
func (l *Lab) credential(program string) *syscall.Credential {
	if program != "slurmdbd" || os.Geteuid() != 0 {
		return nil
	}
	return &syscall.Credential{Uid: uint32(l.rec.Slurm.UID), Gid: uint32(l.rec.Slurm.GID)}
}

func (l *Lab) startSlurmdbd(ctx context.Context) (*daemon, error) {
	started, err := l.start("slurmdbd", l.layout().controllerDir(), "slurmdbd", "-D")
	if err != nil {
		return nil, err
	}
	return started, l.until(ctx, started, func() bool { return listening(primaryAddr, l.rec.DbdPort) })
}

// Enroll makes an accounting account, unless it exists, and adds users to it. With
// AccountingStorageEnforce=limits no other users can submit.
func (l *Lab) Enroll(ctx context.Context, account string, users ...string) error {
	if !l.rec.Config.Accounting {
		return &Error{Op: "lab", Dir: l.Dir(), Err: fmt.Errorf("%w: it has no accounting", ErrConfig), Hint: "sluice lab up --accounting"}
	}
	if err := l.accountant(ctx, "add", "account", account); err != nil {
		return err
	}
	if len(users) == 0 {
		return nil
	}
	return l.accountant(ctx, "add", "user", strings.Join(users, ","), "account="+account)
}

// accountant runs sacctmgr. An object that exists already is no error. A slurmdbd that
// has just begun to listen may still be creating its tables.
func (l *Lab) accountant(ctx context.Context, args ...string) error {
	for {
		short, cancel := context.WithTimeout(ctx, commandDeadline)
		out, err := output(l.Command(short, "sacctmgr", append([]string{"-i"}, args...)...))
		cancel()
		switch {
		case err == nil:
			return nil
		case strings.Contains(out+err.Error(), "Nothing new added"), strings.Contains(out+err.Error(), "already exists"):
			return nil
		}
		if pause(ctx, 4*pollEvery) != nil {
			return fmt.Errorf("sacctmgr %s: %w", strings.Join(args, " "), err)
		}
	}
}

// enrollCallers adds the users that can submit in any lab.
func (l *Lab) enrollCallers(ctx context.Context) error {
	if !l.rec.Config.Accounting {
		return nil
	}
	me, err := lookupID(os.Geteuid())
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	users := []string{me.Name}
	if l.rec.Slurm.Name != me.Name {
		users = append(users, l.rec.Slurm.Name)
	}
	return l.Enroll(ctx, LabAccount, users...)
}

// accountingSettings are the keys of slurm.conf that come with Accounting.
func (s site) accountingSettings() []setting {
	list := []setting{
		{"AccountingStorageType", "accounting_storage/slurmdbd"},
		{"AccountingStorageHost", "127.0.0.1"},
		{"AccountingStoragePort", fmt.Sprint(s.DbdPort)},
		// For sacctmgr and slurmctld to find munged for slurmdbd: AuthInfo is not used
		// there.
		{"AccountingStoragePass", layout(s.Config.Dir).mungeSocket()},
		{"AccountingStorageEnforce", "limits,qos"},
	}
	if s.Config.GPUs > 0 {
		list = append(list, setting{"AccountingStorageTRES", "gres/gpu"})
	}
	return list
}

// slurmdbdConf renders slurmdbd.conf; "" = no accounting. The database's socket is passed
// in the environment (MYSQL_UNIX_PORT): slurmdbd has no key for it.
func (s site) slurmdbdConf() string {
	if !s.Config.Accounting {
		return ""
	}
	d := layout(s.Config.Dir)
	var b strings.Builder
	for _, set := range []setting{
		{"AuthType", "auth/munge"},
		{"AuthInfo", "socket=" + d.mungeSocket()},
		{"DbdHost", s.Host},
		{"DbdAddr", "127.0.0.1"},
		{"DbdPort", fmt.Sprint(s.DbdPort)},
		{"SlurmUser", s.Slurm},
		{"PidFile", d.join("run", "slurm", "slurmdbd.pid")},
		{"LogFile", d.log("slurmdbd")},
		{"StorageType", "accounting_storage/mysql"},
		{"StorageHost", "localhost"},
		{"StorageUser", s.Slurm},
		{"StorageLoc", "slurm_acct_db"},
	} {
		fmt.Fprintf(&b, "%s=%s\n", set.key, set.value)
	}
	if s.Plugins != "" {
		fmt.Fprintf(&b, "PluginDir=%s\n", s.Plugins)
	}
	return b.String()
}
