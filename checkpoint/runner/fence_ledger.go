package runner

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"github.com/sluice-hpc/sluice/checkpoint"
	"github.com/sluice-hpc/sluice/checkpoint/gate"
)

// ledgerLock is the file that is locked while the ledger is changed.
const ledgerLock = "left.lock"

// stored returns the ledger as it is on the disk, which another runner of the job may have changed: where a node is
// lost to Slurm, and not to its programs, the job's next run begins while the one before goes on. With ErrLedger it is
// one by which nothing more leaves.
func (f *fence) stored() (gate.Ledger, error) {
	data, err := checkpoint.ReadIn(f.vault(), gate.LedgerFile, smallFile)
	var l gate.Ledger
	switch known := f.ledger.Bytes > 0 || len(f.ledger.Names) > 0; {
	case errors.Is(err, os.ErrNotExist) && !known:
		return gate.New(), nil
	case errors.Is(err, os.ErrNotExist):
		err = fmt.Errorf("%w: it is gone", gate.ErrLedger)
	case err != nil:
		return f.ledger, fmt.Errorf("%s: %w", gate.LedgerFile, err)
	default:
		l, err = gate.Parse(data)
	}
	if err != nil {
		return gate.Spent(f.Numbers), err
	}
	return l, nil
}

// recount changes the ledger, from what is on the disk now, durably. change returns false to leave it as it is.
func (r *run) recount(change func(gate.Ledger) (gate.Ledger, bool)) error {
	f := r.fence
	err := f.locked(func() error {
		now, err := f.stored()
		if err != nil && !errors.Is(err, gate.ErrLedger) {
			return err
		}
		next, changed := change(now)
		if changed {
			if err := checkpoint.WriteIn(f.vault(), gate.LedgerFile, next.Data(), 0o600); err != nil {
				return err
			}
		}
		f.ledger = next
		return nil
	})
	r.complain("writing "+gate.LedgerFile, err)
	return err
}

// locked does something while no other runner of the job does. It does not wait: the error says that another one is at
// it. Where the file system has no locks the ledger is only read again.
func (f *fence) locked(do func() error) error {
	name := filepath.Join(f.vault(), ledgerLock)
	file, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0o600)
	if err != nil {
		return err
	}
	defer file.Close() // unlocks it
	err = unix.Flock(int(file.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	if err != nil && !errors.Is(err, unix.ENOSYS) && !errors.Is(err, unix.EOPNOTSUPP) && !errors.Is(err, unix.ENOLCK) {
		return fmt.Errorf("%s: %w", ledgerLock, err)
	}
	return do()
}
