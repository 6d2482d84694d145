package joint

// Ceiling is ceiling for tests.
func (s *Search) Ceiling() float64 { return s.ceiling() }
