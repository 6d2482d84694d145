package sweeps

// promotable is how many paused trials ASHA with promotion would run on.
func (r *run) promotable(s *Sweep) int {
	if !r.Policy.Promote && !r.Policy.Return {
		return 0
	}
	n := 0
	for _, t := range s.paused {
		if s.board != nil && s.board.Returns(t.number) {
			n++
		}
	}
	return n
}

// promote takes the paused trial that is among the best of its rung, at the highest such rung
// (Li et al., MLSys 2020, algorithm 2).
func (s *Sweep) promote() *trial {
	best, high := -1, 0
	for i, t := range s.paused {
		if v := s.board.Verdict(t.number); !v.Pause && v.Rung > high {
			best, high = i, v.Rung
		}
	}
	if best < 0 {
		return nil
	}
	t := s.paused[best]
	s.paused = append(s.paused[:best], s.paused[best+1:]...)
	return t
}
