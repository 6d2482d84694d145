// Package supervise is what sluice run and sluice ranks have in common: both start
// processes in a job and wait for them.
//
//	s, err := supervise.Begin(os.Environ()) // BEFORE any process is started
//	defer s.Close()
//	child, err := s.Family.Start(...)
//	for signal := range s.Signals { ... }
//
// How they react to signals, ends and failures is decided in packages runner and ranks.
package supervise
