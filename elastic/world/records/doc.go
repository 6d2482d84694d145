// Package records keeps what a world leaves for an audit, in the words of the real ones:
// sluiced's event log from the engine's events, slurmctld's log and the job completion log
// from the fake's own log. Virtual time may stand still while much happens, so each line is
// at least a microsecond later than the one before.
//
//	w := world.New(world.Config{Records: &records.Records{}, ...})
//	w.Records.Starts(w.Now()) // BEFORE the engine's first event
//	... Events: w.Records.Event
//	w.Check() // audits, too
//
// It is apart from the world so that a simulation for users, which is not audited, does
// not link the audit.
package records
