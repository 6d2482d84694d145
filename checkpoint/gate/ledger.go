package gate

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/sluice-hpc/sluice/checkpoint"
)

// LedgerFile is the name of the ledger, in the job's folder in the vault.
const LedgerFile = "left.json"

// Ledger is what has left a fence. It is a value: its methods return a changed copy.
type Ledger struct {
	Version int   `json:"version"`
	Bytes   int64 `json:"bytes"` // of all lines that left
	Last    int64 `json:"last"`  // when the last left, in Unix milliseconds; 0 = none has
	// Names are the checkpoints that were named outside, the oldest first: the name of
	// Names[i] is that of number First+i.
	First int      `json:"first"`
	Names []string `json:"names"`
}

// ErrLedger: the ledger cannot be read. Nothing may leave then.
var ErrLedger = errors.New("the count of what left cannot be read")

// version of the ledger.
const version = 1

// maxNames bounds the names that are kept.
const maxNames = 64

// New returns the ledger of a job of which nothing has left.
func New() Ledger { return Ledger{Version: version, First: 1} }

// Spent is a ledger by which nothing more may leave: it stands for one that cannot be read.
func Spent(limit int64) Ledger {
	l := New()
	l.Bytes = limit
	return l
}

// Parse reads a ledger. Errors are ErrLedger.
func Parse(data []byte) (Ledger, error) {
	var l Ledger
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&l); err != nil {
		return Ledger{}, fmt.Errorf("%w: %v", ErrLedger, err)
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return Ledger{}, fmt.Errorf("%w: something follows the JSON object", ErrLedger)
	}
	if l.Version != version || l.Bytes < 0 || l.Last < 0 || l.First < 1 || l.First > maxSequence-maxNames || len(l.Names) > maxNames || !slices.IsSorted(l.Names) {
		return Ledger{}, fmt.Errorf("%w: it is not what sluice wrote", ErrLedger)
	}
	return l, nil
}

// maxSequence is the last number of a checkpoint.
const maxSequence = 99_999_999

// Data is the ledger as it is stored.
func (l Ledger) Data() []byte {
	data, _ := json.Marshal(l) // numbers and names: it cannot fail
	return append(data, '\n')
}

// Outside returns the name outside of a checkpoint of the program; "" of none. Newer
// checkpoints have later names.
func (l Ledger) Outside(name string) (Ledger, string) {
	if name == "" {
		return l, ""
	}
	at, found := slices.BinarySearch(l.Names, name)
	switch {
	case found:
		return l, checkpoint.Name(l.First + at)
	case at < len(l.Names): // older than one that was named: the nearest before it
		return l, checkpoint.Name(l.First + at - 1)
	}
	l.Names = append(slices.Clone(l.Names), name)
	if over := len(l.Names) - maxNames; over > 0 {
		l.Names, l.First = l.Names[over:], l.First+over
	}
	return l, checkpoint.Name(l.First + len(l.Names) - 1)
}

// Inside returns the program's name of a checkpoint that was named outside; "" if it is
// unknown.
func (l Ledger) Inside(name string) string {
	for i, n := range l.Names {
		if checkpoint.Name(l.First+i) == name {
			return n
		}
	}
	return ""
}
