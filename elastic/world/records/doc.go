// Package records writes the logs of a world for an audit, in the formats of the real programs:
// sluiced's event log from the engine's events, and slurmctld's log and the job completion log from
// the fake's own log. Many lines may have the same virtual time, so that each line is at
// least 1 us later than the one before.
//
//	w := world.New(world.Config{Records: &records.Records{}, ...})
//	w.Records.Starts(w.Now()) // BEFORE the engine's first event
//	... Events: w.Records.Event
//	w.Check() // audits, too
//
// It is not part of package world so that simulations for users, which are not audited, do
// not link the audit.
package records
