package joint

// Ceiling exports ceiling for tests.
func (s *Search) Ceiling() float64 { return s.ceiling() }
