// Package supervise is how sluice run and sluice ranks begin: each is a process of a job
// whose whole business is to run others.
//
//	s, err := supervise.Begin(os.Environ()) // BEFORE any process is started
//	defer s.Close()
//	child, err := s.Family.Start(...)
//	for signal := range s.Signals { ... }
//
// What they make of signals, ends and failures is their own: packages runner and ranks.
package supervise
