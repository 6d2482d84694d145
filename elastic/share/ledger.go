package share

import (
	"cmp"
	"math"
	"slices"
	"time"
)

// DefaultHalfLife is the default of Slurm's PriorityDecayHalfLife.
const DefaultHalfLife = 7 * 24 * time.Hour

// Ledger remembers by how much each user of each account had less or more than it deserved. It
// decays as Slurm decays usage: a GPU-second counts half after each PriorityDecayHalfLife,
//
//	U(now) = U(then) * 2^(-(now-then)/PriorityDecayHalfLife)
//
// (priority_multifactor: "The usage of the past is decayed"; Slurm computes the same once per
// PriorityCalcPeriod). What an account does not want is not saved for it: the ledger counts what
// was deserved, and that is never more than what was wanted. It is not safe for concurrent use.
type Ledger struct {
	halfLife time.Duration
	credit   map[userOf]float64 // GPU-seconds
}

// NewLedger returns an empty ledger; with a half life of 0 it never decays, as in Slurm. Credits of an
// earlier daemon are added with Put, each decayed by Left for the time away.
func NewLedger(halfLife time.Duration) *Ledger {
	return &Ledger{halfLife: halfLife, credit: map[userOf]float64{}}
}

// Pass lets time pass: all that was booked counts less.
// A time of 0 or less changes nothing: a clock that was set back gives no credit.
func (l *Ledger) Pass(d time.Duration) {
	factor := l.Left(d)
	if factor == 1 {
		return
	}
	for key, credit := range l.credit {
		if l.credit[key] = credit * factor; math.Abs(l.credit[key]) < 1 {
			delete(l.credit, key) // less than a GPU-second decides nothing
		}
	}
}

// Left is what is left of a GPU-second after this time.
// It is 1 to 0: 1 for no time, one half after a half life.
func (l *Ledger) Left(d time.Duration) float64 {
	if l.halfLife <= 0 || d <= 0 {
		return 1
	}
	return math.Exp2(-d.Seconds() / l.halfLife.Seconds())
}

// Book adds what a user deserved and had for some time, GPUs.
//
// It MUST be called only for times in which GPUs were contended (claim.Claims.Contended): else a user that
// has what nobody wanted would owe it. deserved is the part before rounding (Part.Fair), so that
// remainders add up.
func (l *Ledger) Book(account, user string, deserved, had float64, d time.Duration) {
	l.credit[userOf{account, user}] += (deserved - had) * d.Seconds()
}

// Credit returns by how many GPU-seconds the user had less than it deserved; negative = more.
func (l *Ledger) Credit(account, user string) float64 { return l.credit[userOf{account, user}] }

// Decay changes the half life for the time that passes from now on.
// It MUST be called BEFORE Pass for the first time to which it applies.
func (l *Ledger) Decay(halfLife time.Duration) { l.halfLife = halfLife }

// Entry is what the ledger says of one user.
type Entry struct {
	Account, User string
	Credit        float64 // GPU-seconds
}

// Entries returns all that is not 0, in order of account and user.
// The list belongs to the caller.
func (l *Ledger) Entries() []Entry {
	out := make([]Entry, 0, len(l.credit))
	for key, credit := range l.credit {
		if credit != 0 {
			out = append(out, Entry{key.account, key.user, credit})
		}
	}
	slices.SortFunc(out, func(a, b Entry) int { return cmp.Or(cmp.Compare(a.Account, b.Account), cmp.Compare(a.User, b.User)) })
	return out
}

// Put replaces what the ledger says of a user.
func (l *Ledger) Put(account, user string, credit float64) {
	l.credit[userOf{account, user}] = credit
}
